"""An Inspect log in `.eval` form: a zip archive of JSON, deflated or Zstandard.

Nothing is unpacked to disk, so a member's name cannot lead anywhere; a member is read in pieces,
and one that expands like a bomb is refused.
"""

import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

import zstandard

from ..models.errors import SourceFault

PIECE = 256 * 1024
MOST_DIRECTORY_BYTES = 64 * 1024 * 1024
"""Of the archive's list of members, which is held whole: about half a million samples."""
BOMB_FACTOR, BOMB_FLOOR = 1_000, 64 * 1024 * 1024
"""A member is a bomb when it expands more than this many times, beyond this many bytes."""
ZSTANDARD = 93
LOCAL_HEADER = struct.Struct("<4s22xHH")
END, END_BYTES, COMMENT_BYTES = b"PK\x05\x06", 22, 65_535
END_64, IN_END_64 = b"PK\x06\x06", struct.Struct("<40xQ")
IN_END, NOT_IN_32_BITS = struct.Struct("<12xL"), 0xFFFFFFFF
DAMAGED = (zipfile.BadZipFile, zlib.error, zstandard.ZstdError, struct.error, EOFError, ValueError)


class EvalArchive:
    """The members of a log; a context manager.

    Raises:
        SourceFault: the file is no archive, or is damaged, names the member.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise SourceFault(path, "", f"cannot be read: {error.strerror or error}") from error
        try:
            check_directory(path, self._file)
            self._zip = zipfile.ZipFile(self._file)
        except (*DAMAGED, OSError, NotImplementedError) as error:
            self._file.close()
            raise SourceFault(path, "", f"is no whole .eval archive: {error}") from error
        except SourceFault:
            self._file.close()
            raise
        # A member written twice counts as it was written last.
        self._members = {info.filename: info for info in self._zip.infolist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members, in the order in which they were written."""
        return tuple(self._members)

    def digest(self) -> bytes:
        """A hash of the contents, by what the archive's directory says of each member."""
        told = (f"{i.filename}\x00{i.CRC:x}\x00{i.file_size}\n" for i in self._members.values())
        return hashlib.sha256("".join(sorted(told)).encode("utf-8", "replace")).digest()

    def pieces(self, name: str) -> Iterator[bytes]:
        """A member's bytes, piece by piece, its check sum compared at the end.

        Raises:
            SourceFault: there is no such member; it is damaged, encrypted, or expands like a bomb.
        """
        info = self._members.get(name)
        if info is None:
            raise SourceFault(self._path, name, "the archive has no such member")
        total, check = 0, 0
        most = max(BOMB_FLOOR, BOMB_FACTOR * info.compress_size)
        try:
            for piece in self._expanded(info):
                total += len(piece)
                if total > most:
                    raise SourceFault(
                        self._path, name,
                        f"expands from {info.compress_size:,} bytes to more than {most:,}: "
                        "a bomb, not a log",
                    )  # fmt: skip
                check = zlib.crc32(piece, check)
                yield piece
        except (*DAMAGED, OSError, RuntimeError, NotImplementedError) as error:
            raise SourceFault(self._path, name, f"is damaged: {error}") from error
        if check != info.CRC:
            raise SourceFault(self._path, name, "is damaged: its check sum does not fit")

    def _expanded(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        if info.compress_type != ZSTANDARD:
            with self._zip.open(info) as member:
                while piece := member.read(PIECE):
                    yield piece
            return
        raw = self._raw(info)
        unpack = zstandard.ZstdDecompressor()
        reader = unpack.stream_reader(raw, read_across_frames=True)  # type: ignore[arg-type]
        while piece := reader.read(PIECE):
            yield piece

    def _raw(self, info: zipfile.ZipInfo) -> "_Slice":
        self._file.seek(info.header_offset)
        magic, name_bytes, extra_bytes = LOCAL_HEADER.unpack(self._file.read(LOCAL_HEADER.size))
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("its header is not where the directory says")
        start = info.header_offset + LOCAL_HEADER.size + name_bytes + extra_bytes
        return _Slice(self._file, start, info.compress_size)


def check_directory(path: Path, file: BinaryIO) -> None:
    """Refuse an archive whose list of members is enormous, before all of it is read.

    Raises:
        SourceFault: it is larger than `MOST_DIRECTORY_BYTES`, by what the archive's end says.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - END_BYTES - COMMENT_BYTES - 1024))
    tail = file.read()
    at, at_64 = tail.rfind(END), tail.rfind(END_64)
    told = [
        form.unpack_from(tail, place)[0]
        for form, place in ((IN_END, at), (IN_END_64, at_64))
        if 0 <= place <= len(tail) - form.size
    ]
    listed = [directory for directory in told if directory != NOT_IN_32_BITS]
    if listed and max(listed) > MOST_DIRECTORY_BYTES:
        raise SourceFault(
            path, "",
            f"lists its members in {max(listed):,} bytes, more than the {MOST_DIRECTORY_BYTES:,} "
            "allowed",
        )  # fmt: skip


class _Slice:
    """A stretch of a file, readable by itself while others read elsewhere in it."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        self._file, self._at, self._end = file, start, start + size

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; all that is left for -1."""
        left = self._end - self._at
        self._file.seek(self._at)
        piece = self._file.read(left if size < 0 else min(size, left))
        self._at += len(piece)
        return piece
