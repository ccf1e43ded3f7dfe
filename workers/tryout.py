"""Trying a command out, to learn whether a machine can do something."""

import shutil
import subprocess

TIMEOUT_S = 10


def why_not(program: str, *arguments: str) -> str:
    """Why a command does not succeed, in its last words; "" when it does."""
    return tried(program, *arguments)[1]


def tried(program: str, *arguments: str) -> tuple[str, str]:
    """(standard output, why it failed) of a command; the latter is "" when it did not."""
    if shutil.which(program) is None:
        return "", f"{program} is not installed"
    try:
        ended = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return "", f"{program} did not answer within {TIMEOUT_S} s"
    if ended.returncode == 0:
        return ended.stdout, ""
    said = ended.stderr.strip().splitlines() or [f"{program} ended with {ended.returncode}"]
    return ended.stdout, said[-1]
