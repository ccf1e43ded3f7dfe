"""The programs `ip` and `tc` of iproute2, whose answers are JSON."""

import json
import subprocess
from typing import Any

from ...models.errors import StartFailed

TIMEOUT_S = 10.0


def run(program: str, *words: str, lines: tuple[str, ...] = ()) -> str:
    """Run `ip` or `tc`; what it prints.

    Args:
        lines: a batch of commands for its standard input, where the words ask for one.
    Raises:
        StartFailed: it is not installed, or refuses, with its own words.
    """
    try:
        ended = subprocess.run(
            [program, *words],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except FileNotFoundError as error:
        raise StartFailed(f"{program} is not installed on this node; install iproute2") from error
    except subprocess.TimeoutExpired as error:
        raise StartFailed(f"{program} did not answer within {TIMEOUT_S:g} s") from error
    if ended.returncode:
        said = ended.stderr.strip() or f"it ended with {ended.returncode}"
        raise StartFailed(f"{program} {' '.join(words or lines)}: {said}")
    return ended.stdout


def batch(program: str, *lines: str) -> None:
    """Run commands of `ip` or `tc` in one go; the first that fails ends it.

    Raises:
        StartFailed
    """
    run(program, "-batch", "-", lines=lines)


def asked(program: str, *words: str) -> list[dict[str, Any]]:
    """The JSON answer of a `show`.

    Raises:
        StartFailed
    """
    return list(json.loads(run(program, "-j", *words) or "[]"))
