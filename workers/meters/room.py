"""Whether a disk of the node has room left: a trial on a full one says nothing of the model."""

import os
from collections.abc import Iterable
from pathlib import Path

LEAST_BYTES = 1024 * 1024


def full(disks: Iterable[Path]) -> bool | None:
    """Whether any of these disks is full, for bytes or for files; None where none can be asked."""
    answers = [answer for disk in disks if (answer := _full(disk)) is not None]
    return any(answers) if answers else None


def _full(disk: Path) -> bool | None:
    try:
        told = os.statvfs(disk)
    except OSError:  # not made yet, or not for us
        return None
    no_files = bool(told.f_files) and not told.f_favail
    return told.f_bavail * told.f_frsize < LEAST_BYTES or no_files
