"""The disk space of trees that somebody else writes to, measured from outside."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

BLOCK_BYTES = 512  # the unit of st_blocks, whatever the file system's own is
MOST_ENTRIES = 20_000  # beyond them starting `du` is the cheaper way; it holds no other thread up


class TooMuch(Exception):
    """A tree is larger than is walked here."""


def allocated_bytes(folders: Sequence[Path]) -> int:
    """Bytes allocated on disk below these folders; a file with several names counts once.

    Links are not followed, other file systems not entered. What vanishes while it is being counted
    is left out. A tree that is large, deeper than a path may be long, or closed to us is left to
    `du`, which counts in KiB.
    """
    try:
        return sum(_walked_bytes(os.fspath(folder)) for folder in folders)
    except (TooMuch, OSError):
        return sum(_told_bytes(folder) for folder in folders)


def _walked_bytes(top: str) -> int:
    waiting, total, seen = [top], 0, 0
    once: set[int] = set()
    try:
        device = os.lstat(top).st_dev
    except FileNotFoundError:
        return 0
    while waiting:
        for entry, status in _entries(waiting.pop()):
            seen += 1
            if status.st_dev != device:
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif status.st_nlink > 1:
                if status.st_ino in once:
                    continue
                once.add(status.st_ino)
            total += status.st_blocks * BLOCK_BYTES
        if seen > MOST_ENTRIES:
            raise TooMuch
    return total


def _entries(folder: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                yield entry, entry.stat(follow_symlinks=False)


def _told_bytes(folder: Path) -> int:
    told = subprocess.run(["du", "-skx", str(folder)], capture_output=True, check=False)
    return int(told.stdout.split()[0]) * 1024 if told.stdout else 0
