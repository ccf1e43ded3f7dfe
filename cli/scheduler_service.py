"""`scheduler`: the service's process: its signals and its log."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

from ..models.alive import Alive
from ..scheduler.home import Home
from ..scheduler.passes import Gateway
from .gateway import seal_of
from .stopping import stop_on_signals


def serve(store: str, broker: str, alive: Path | None, *, as_json: bool) -> int:
    """Serve until SIGTERM or SIGINT; returns the exit code."""
    with stop_on_signals() as stop:
        say = say_json if as_json else say_plainly
        known = known_gateway(os.environ)
        Home(store, broker, stop, say, Alive(alive), gateway=known).serve()
    return 0


def known_gateway(environ: Mapping[str, str]) -> Gateway | None:
    """The fleet's gateway, where there is one.

    Raises:
        DesignError: it is named, and there is no secret to sign tokens with.
    """
    url = environ.get("INFRANOISE_GATEWAY_URL", "").rstrip("/")
    return Gateway(url, seal_of(environ)) if url else None


def say_json(event: str, /, **facts: str | int | float | None) -> None:
    """One JSON document on a line of standard output."""
    print(json.dumps({"at": _now(), "event": event, **facts}), flush=True)


def say_plainly(event: str, /, **facts: str | int | float | None) -> None:
    """One line of words on standard output."""
    told = "  ".join(f"{name}={value}" for name, value in facts.items() if value not in (None, ""))
    print(f"{_now()} {event}  {told}".rstrip(), flush=True)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
