"""`python -m infranoise.gateway.own_process`: a gateway that lives while its input is open.

Its first line of input says what it is to do, secret and all, so that no argument and no file
shows it; it answers with its port. Then it serves until its input ends: the parent holds the other
end, so that the gateway goes with the parent, however that goes.
"""

import os
import sys
from pathlib import Path

from ..models.api_token import Seal
from ..models.errors import InfranoiseError
from ..models.provider import Provider
from ..models.value import Value
from .content import Content
from .serve import Duty, Place, serve
from .upstream import upstreams


class Told(Value):
    """What the parent says."""

    secret: str
    broker: str
    hosts: tuple[str, ...]
    providers: dict[str, Provider]
    content: Path | None = None


def main() -> int:
    """Serve until standard input ends; returns the exit code."""
    told = Told.model_validate_json(sys.stdin.buffer.readline())
    content = Content(told.content).keep if told.content else None
    try:
        keyed = upstreams(told.providers, os.environ)
        duty = Duty(Place(told.hosts), Seal(told.secret), told.broker, keyed, content)
        serve(duty, lambda port: print(port, flush=True), sys.stdin.buffer.read)
    except InfranoiseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
