"""A task's folder as one file, and back: packed alike on every machine, unpacked with distrust."""

import gzip
import stat
import tarfile
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ..errors import BlobError
from ..folder_hash import NotHashable, folder_hash

LIMIT_BYTES = 16 * 1024**3  # of a folder unpacked: what is larger belongs into an image
LEVEL = 6


def pack(folder: Path, content_hash: str, target: Path) -> None:
    """Pack a folder into a tar.gz. Equal folders give equal files.

    Of permissions only whether a file may be executed is kept.

    Raises:
        BlobError: the folder's content is not (any longer) what the hash says, or it is too large.
    """
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        total = 0
        for path in sorted(folder.rglob("*")):
            member = _member(path, path.relative_to(folder).as_posix())
            total += member.size
            _check_size(total, folder)
            if member.isreg():
                with path.open("rb") as file:
                    tar.addfile(member, file)
            else:
                tar.addfile(member)
    _verify(folder, content_hash, "it changed while it was packed; submit again")


def unpack(bundle: Path, content_hash: str, target: Path) -> None:
    """Unpack a bundle into `target`, which must be a new, empty folder, and check what came out.

    Nothing is written outside `target`, whatever the bundle holds: links are made last, and none
    is followed.

    Raises:
        BlobError: it is no bundle, it holds what no task holds, or its content is another.
    """
    try:
        with tarfile.open(bundle, "r:gz") as tar:
            members = tar.getmembers()
            _check_size(sum(member.size for member in members), bundle)
            for member in members:
                if not member.issym():
                    _take(tar, member, target)
            _link((member for member in members if member.issym()), target)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise BlobError(f"{bundle.name} cannot be unpacked: {error}") from error
    _verify(target, content_hash, "the bundle is not the task that was submitted")


def _member(path: Path, name: str) -> tarfile.TarInfo:
    """A file, folder or link without what differs between machines: owners, times, umasks."""
    member, found = tarfile.TarInfo(name), path.lstat()
    member.mode = 0o755
    if stat.S_ISLNK(found.st_mode):
        member.type, member.linkname = tarfile.SYMTYPE, str(path.readlink())
    elif stat.S_ISDIR(found.st_mode):
        member.type = tarfile.DIRTYPE
    elif stat.S_ISREG(found.st_mode):
        member.size = found.st_size
        member.mode = 0o755 if found.st_mode & 0o100 else 0o644
    else:
        raise BlobError(f"{path} is neither a file, a folder nor a link")
    return member


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    path = _inside(target, member.name)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    content = tar.extractfile(member) if member.isreg() else None
    if content is None:
        raise BlobError(f"{member.name}: a task holds files, folders and links alone")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("xb") as file:
        while block := content.read(1 << 20):
            file.write(block)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)


def _link(members: Iterable[tarfile.TarInfo], target: Path) -> None:
    for member in members:
        path = _inside(target, member.name)
        if any(parent.is_symlink() for parent in path.parents if parent.is_relative_to(target)):
            raise BlobError(f"{member.name}: lies behind a link")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(member.linkname)


def _inside(target: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts:
        raise BlobError(f"{name!r}: a name that leads out of the task's folder")
    return target.joinpath(*parts)


def _check_size(total_bytes: int, what: Path) -> None:
    if total_bytes > LIMIT_BYTES:
        raise BlobError(
            f"{what} holds more than {LIMIT_BYTES >> 30} GiB, too much to send to every node; put "
            "large files into the task's image"
        )


def _verify(folder: Path, content_hash: str, otherwise: str) -> None:
    try:
        found = folder_hash(folder)
    except (NotHashable, OSError) as error:
        raise BlobError(f"{folder}: {error}") from error
    if found != content_hash:
        raise BlobError(
            f"{folder}: its content is {found[:12]}, not {content_hash[:12]}: {otherwise}"
        )
