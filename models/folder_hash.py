"""The content of a folder as one number."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path


class NotHashable(ValueError):
    """A folder holds something that is neither file, folder nor link."""


def folder_hash(folder: Path) -> str:
    """SHA-256 (hex) over the names, kinds and bytes of everything in a folder.

    Names are relative and order does not matter; permissions and times are left out, since
    checkouts differ in them. A link counts as its target's text and is not followed. Files are
    read in blocks, so memory stays small. A folder that does not exist counts as an empty one.

    Raises:
        NotHashable: a device, fifo or socket lies in the folder.
        OSError: something cannot be read.
    """
    total = hashlib.sha256()
    for name, path in sorted(_entries(folder)):
        kind, digest = _digest(path)
        total.update(b"%c%d:%b%b" % (kind, len(name), name, digest))
    return total.hexdigest()


def text_hash(*texts: str) -> str:
    """SHA-256 (hex) of texts, each with its length, so that no two lists run together."""
    total = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogateescape")
        total.update(b"%d:%b" % (len(encoded), encoded))
    return total.hexdigest()


def _entries(folder: Path) -> Iterator[tuple[bytes, Path]]:
    for parent, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            path = Path(parent, name)
            yield os.fsencode(path.relative_to(folder).as_posix()), path


def _digest(path: Path) -> tuple[bytes, bytes]:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return b"l", hashlib.sha256(os.fsencode(path.readlink())).digest()
    if stat.S_ISDIR(mode):
        return b"d", b""
    if not stat.S_ISREG(mode):
        raise NotHashable(f"{path} is neither a file, a folder nor a link")
    with path.open("rb") as file:
        return b"f", hashlib.file_digest(file, "sha256").digest()
