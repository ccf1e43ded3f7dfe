"""Files into and out of a pod as tar streams, for runtimes that copy by archive.

Into: built piece by piece, so that a large file is never held. Out of: what a pod holds is
hostile, so nothing is written through a link, and links are made last and only where they lead
back into the target.
"""

import io
import itertools
import os
import shutil
import stat
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

PIECE_BYTES = 256 * 1024
DOWNLOAD_CAP_BYTES = 1024**3
MEMBERS_CAP = 200_000  # empty files cost inodes, which no cap on bytes bounds
PATH_CAP_BYTES = 4096


def pack(source: Path, target: PurePosixPath) -> Iterator[bytes]:
    """A tar stream which, unpacked at `/`, makes `source` (or what it holds) appear at `target`.

    Owned by root, modes kept. Symlinks stay links. A file that shrinks or grows meanwhile is
    padded or cut to the length that was announced. Sockets, fifos and devices are left out.
    """
    return _gathered(_pieces(source, target.relative_to("/")))


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of about `PIECE_BYTES`: one write to the socket costs as much for
    a header of 512 bytes as for a whole piece."""
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= PIECE_BYTES:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def _pieces(source: Path, name: PurePosixPath) -> Iterator[bytes]:
    if not source.is_dir():
        yield from _member(source, name, source.stat())
    elif any(source.iterdir()):
        # Whoever unpacks makes missing parents; naming a folder that exists (/tmp, say) would
        # give it this one's mode.
        yield from _inside(source, name)
    elif name.parts:
        yield from _member(source, name, source.stat())
    yield bytes(2 * tarfile.BLOCKSIZE)


def _inside(folder: Path, name: PurePosixPath) -> Iterator[bytes]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        path, status = Path(entry), entry.stat(follow_symlinks=False)
        yield from _member(path, name / entry.name, status)
        if stat.S_ISDIR(status.st_mode):
            yield from _inside(path, name / entry.name)


def _member(path: Path, name: PurePosixPath, status: os.stat_result) -> Iterator[bytes]:
    header = tarfile.TarInfo(str(name))
    header.mode, header.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    if stat.S_ISDIR(status.st_mode):
        header.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(status.st_mode):
        header.type, header.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif stat.S_ISREG(status.st_mode):
        header.size = status.st_size
    else:
        return
    yield header.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    if header.size:
        yield from _contents(path, header.size)


def _contents(path: Path, size_bytes: int) -> Iterator[bytes]:
    left = size_bytes
    with path.open("rb") as file:
        while left and (piece := file.read(min(left, PIECE_BYTES))):
            left -= len(piece)
            yield piece
    yield bytes(left + -size_bytes % tarfile.BLOCKSIZE)


class Pieces(io.RawIOBase):
    """An iterator of byte strings as a readable file, for `tarfile`."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        """Fill `into` from the next piece; 0 at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def unpack(pieces: Iterator[bytes], target: Path, cap_bytes: int = DOWNLOAD_CAP_BYTES) -> bool:
    """Write a tar stream's one top entry as `target`; False if it holds nothing that may be kept.

    Left out: absolute names, `..`, links that leave `target`, devices, fifos. At `cap_bytes` of
    contents it stops reading. Modes keep the owner's bits only, readable and writable.
    """
    with tarfile.open(fileobj=io.BufferedReader(Pieces(pieces), PIECE_BYTES), mode="r|") as tar:
        return _Landing(target, cap_bytes).take(tar)


class _Landing:
    """One hostile archive being written below `target`."""

    def __init__(self, target: Path, cap_bytes: int) -> None:
        self._target = target
        self._left_bytes = cap_bytes
        self._links: list[tuple[Path, str]] = []
        self._files: dict[str, Path] = {}

    def take(self, tar: tarfile.TarFile) -> bool:
        for member in itertools.islice(tar, MEMBERS_CAP):
            if member.isreg() and member.size > self._left_bytes:
                break
            path = self._place(member.name)
            if path is not None:
                self._put(tar, member, path)
        self._link()
        return os.path.lexists(self._target)

    def _place(self, name: str) -> Path | None:
        """Where a member goes; None where it may not. The archive's top entry is `target`."""
        parts = PurePosixPath(name).parts
        if not parts or parts[0] == "/" or ".." in parts:
            return None
        path = self._target.joinpath(*parts[1:])
        if len(os.fsencode(path)) >= PATH_CAP_BYTES:
            return None
        # A file or link where a folder should be: an archive, or a target, that contradicts it.
        above = (self._target.joinpath(*parts[1:i]) for i in range(1, len(parts)))
        blocked = any(_taken(folder) for folder in above) or path.is_symlink()
        return None if blocked else path

    def _put(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        if member.isdir():
            if not _taken(path):
                path.mkdir(parents=True, exist_ok=True)
        elif not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            if member.issym():
                self._links.append((path, member.linkname))
            elif member.islnk():
                self._copy_of(member.linkname, path)
            elif member.isreg():
                self._write(tar, member, path)

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        contents = tar.extractfile(member)
        assert contents is not None  # it is a regular file
        with path.open("wb") as file:
            shutil.copyfileobj(contents, file, PIECE_BYTES)
        path.chmod(member.mode & 0o700 | 0o600)
        self._left_bytes -= member.size
        self._files[member.name] = path

    def _copy_of(self, name: str, path: Path) -> None:
        """A hard link counts only to a file of this archive, and becomes a copy of it."""
        original = self._files.get(name)
        if original is None or path.exists():
            return
        size_bytes = original.stat().st_size
        if size_bytes <= self._left_bytes:
            shutil.copy(original, path)
            self._left_bytes -= size_bytes

    def _link(self) -> None:
        """Make the links, now that nothing more is written, and take back those that lead out."""
        made = [path for path, to in self._links if self._make(path, to)]
        while out := [path for path in made if self._leads_out(path)]:
            for path in out:
                path.unlink()
            made = [path for path in made if path not in out]

    def _make(self, path: Path, to: str) -> bool:
        if path == self._target or os.path.lexists(path) or PurePosixPath(to).is_absolute():
            return False
        path.symlink_to(to)
        return True

    def _leads_out(self, path: Path) -> bool:
        return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self._target))


def _taken(path: Path) -> bool:
    """Whether something that is not a folder stands there."""
    return path.is_symlink() or (path.exists() and not path.is_dir())
