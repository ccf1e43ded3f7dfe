"""Files that others wrote, read within bounds: how large, in which encoding.

What lies in a tree of results may be truncated, enormous or hostile. Every way in which it can be
wrong becomes a `SourceFault` that names the file and the place.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from ..models.errors import SourceFault

MOST_BYTES = 64 * 1024 * 1024
"""A whole JSON document larger than this is refused; logs that may be larger are streamed."""

type Where = Path | str
"""A file, for reading it and for faults; texts are cheaper where there are many."""


def read_bytes(path: Where, most: int = MOST_BYTES) -> bytes:
    """A whole file.

    Raises:
        SourceFault: it cannot be read, is no ordinary file, or is larger than `most`.
    """
    try:
        # A third of the cost of `Path.open`: trees have hundreds of thousands of small files.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe may have no end
        try:
            status = os.fstat(file)
            size = status.st_size
            if not stat.S_ISREG(status.st_mode):
                raise SourceFault(path, "", "is no ordinary file")
            if size > most:
                raise SourceFault(path, "", f"holds {size:,} bytes, more than the {most:,} allowed")
            content = os.read(file, size)
            while len(content) < size and (more := os.read(file, size - len(content))):
                content += more
        finally:
            os.close(file)
    except OSError as error:
        raise SourceFault(path, "", f"cannot be read: {error.strerror or error}") from error
    return content


def read_text(path: Where, most: int = MOST_BYTES) -> str:
    """A whole UTF-8 file.

    Raises:
        SourceFault: as `read_bytes`; or another encoding, with the byte at fault.
    """
    return decoded(path, read_bytes(path, most))


def decoded(path: Where, content: bytes, place: str = "") -> str:
    """Bytes of a file as text; a byte order mark is dropped.

    Raises:
        SourceFault: the bytes are not UTF-8; names the first that is not.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{place + ', ' if place else ''}byte {error.start:,}"
        raise SourceFault(path, where, "is not UTF-8; save the file in that encoding") from error


def folders(root: Path, faults: list[SourceFault]) -> list[Path]:
    """The folders in a folder, in order of their names; links are not followed. One that cannot be
    listed is a fault, and has none."""
    return _listed(root, faults, lambda entry: entry.is_dir(follow_symlinks=False))


def files(root: Path, faults: list[SourceFault]) -> list[Path]:
    """The files in a folder, likewise, but links to files are files: caches of downloads are made
    of them."""
    return _listed(root, faults, lambda entry: entry.is_file())


def _listed(
    root: Path, faults: list[SourceFault], wanted: Callable[[os.DirEntry[str]], bool]
) -> list[Path]:
    try:
        with os.scandir(root) as found:
            names = sorted(entry.name for entry in found if wanted(entry))
    except OSError as error:
        faults.append(SourceFault(root, "", f"cannot be listed: {error.strerror or error}"))
        return []
    return [root / name for name in names]
