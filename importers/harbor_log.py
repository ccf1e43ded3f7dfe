"""What a Harbor job's log tells of attempts that retries erased."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..models.errors import SourceFault
from .labels import short

FAILED = re.compile(rb"Trial (?P<trial>\S+) failed: (?P<message>.*)")
RETRIED = re.compile(rb"Trial (?P<trial>\S+) failed with exception (?P<mode>\w+)\. Retrying in")
LONGEST_LINE = 64 * 1024


class Erased(NamedTuple):
    """An attempt whose records a retry deleted: the type of its exception, and its message, ""
    where the log has none."""

    mode: str
    message: str


def retried(log: Path) -> Mapping[str, Sequence[Erased]]:
    """The erased attempts of each trial, by its name, in order; none where there is no log.

    The log is read line by line; of a line longer than 64 KiB each piece is looked at by itself.

    Raises:
        SourceFault: the log is there and cannot be read.
    """
    found: dict[str, list[Erased]] = defaultdict(list)
    said: dict[bytes, bytes] = {}
    if not log.is_file():
        return found
    try:
        with log.open("rb") as file:
            while line := file.readline(LONGEST_LINE):
                if match := RETRIED.search(line):
                    trial, mode = match["trial"], match["mode"]
                    found[_text(trial)].append(Erased(_text(mode), _text(said.pop(trial, b""))))
                elif match := FAILED.search(line):
                    said[match["trial"]] = match["message"]
    except OSError as error:
        raise SourceFault(log, "", f"cannot be read: {error.strerror or error}") from error
    return found


def _text(raw: bytes) -> str:
    return short(raw.decode("utf-8", errors="replace"))
