"""Copying into a pod's tree and out of it, whatever the pod has made of it."""

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path, PurePosixPath

from ....models.errors import PodLost
from .tree_steps import (
    CREATE,
    READ,
    Owner,
    ensured,
    ensured_folder,
    mode_of,
    opened,
    reached,
    take_over,
)

ENTRIES_LIMIT, DEPTH_LIMIT = 200_000, 100
COPY_BYTES = 1 << 20
# ELOOP: links in a circle, or one that appeared meanwhile; EINVAL: one that vanished meanwhile;
# EACCES: shut by an ordinary user.
NO_SUCH_PATH = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL, errno.EACCES})


def make_folder(root: Path, target: PurePosixPath, owner: Owner | None) -> None:
    """Have a folder at an absolute path of the tree; links on the way become folders."""
    with ensured(root, target.relative_to("/").parts, owner):
        return


def put(root: Path, source: Path, target: PurePosixPath, owner: Owner | None) -> None:
    """Copy a file, or a folder's contents, to an absolute path of the tree.

    A link that stands where a folder or file must be is replaced. Links in source stay links.

    Raises:
        PodLost: the tree does not let itself be written, with the reason.
    """
    is_folder = source.is_dir()
    names = target.relative_to("/").parts
    try:
        with ensured(root, names if is_folder else names[:-1], owner) as place:
            if is_folder:
                _put_contents(source, place, owner)
            else:
                put_file(source, place, names[-1], owner)
    except OSError as problem:
        raise PodLost(f"cannot copy {source} to {target} in the pod: {problem}") from problem


def put_file(source: Path, place: int, name: str, owner: Owner | None) -> None:
    """Copy a file or a link as itself to a name in an open folder; sockets and such are not."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=place)
    if source.is_symlink():
        os.symlink(source.readlink(), name, dir_fd=place)
    elif source.is_file():
        mode = source.stat().st_mode & 0o777
        handle = os.open(name, CREATE, mode, dir_fd=place)
        with source.open("rb") as reader, os.fdopen(handle, "wb") as writer:
            shutil.copyfileobj(reader, writer, COPY_BYTES)
            os.fchmod(writer.fileno(), mode)
    else:
        return
    take_over(name, place, owner)


def get(root: Path, source: PurePosixPath, target: Path, budget_bytes: int) -> bool:
    """Copy an absolute path of the tree out to target; False if there is none.

    A link at or above source is followed as the pod would, within the tree.
    Left out: what is neither file, folder nor link, links that leave target, files that cannot
    be read, and what does not fit into budget_bytes, 200,000 entries, or a depth of 100.
    """
    taking = _Taking(target, budget_bytes)
    try:
        with reached(root, source.relative_to("/").parts) as (parent, name):
            if not stat.S_ISDIR(mode_of(name, parent)):
                return taking.file(parent, name, target)
            target.mkdir(parents=True, exist_ok=True)
            with opened(name, parent) as place:
                taking.folder(place, target, 0)
    except OSError as problem:
        if problem.errno in NO_SUCH_PATH:
            return False
        raise
    taking.unlink_strays()
    return True


def _put_contents(source: Path, place: int, owner: Owner | None) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                mode = entry.stat(follow_symlinks=False).st_mode & 0o777
                with ensured_folder(place, entry.name, owner, mode) as inner:
                    _put_contents(Path(entry.path), inner, owner)
            else:
                put_file(Path(entry.path), place, entry.name, owner)


class _Taking:
    """One download: how much may still be taken, and where it must stay."""

    def __init__(self, target: Path, budget_bytes: int) -> None:
        self._target = target
        self._left_bytes = budget_bytes
        self._left_entries = ENTRIES_LIMIT
        self._links: list[Path] = []

    def folder(self, place: int, target: Path, depth: int) -> None:
        """Copy what an open folder holds."""
        for name in sorted(os.listdir(place)):
            self._left_entries -= 1
            if self._left_entries < 0 or depth >= DEPTH_LIMIT:
                return
            with contextlib.suppress(OSError):  # unreadable, or gone while we look: left out
                self._entry(place, name, target / name, depth)

    def file(self, place: int, name: str, target: Path) -> bool:
        """Copy a regular file; False when it is none, cannot be read, or is too large."""
        try:
            handle = os.open(name, READ, dir_fd=place)
        except OSError:
            return False
        with os.fdopen(handle, "rb") as reader:
            seen = os.fstat(handle)
            if not stat.S_ISREG(seen.st_mode) or seen.st_size > self._left_bytes:
                return False
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            left_bytes = seen.st_size  # what it grows by meanwhile is not ours
            with target.open("xb") as writer:
                while left_bytes and (chunk := reader.read(min(COPY_BYTES, left_bytes))):
                    writer.write(chunk)
                    left_bytes -= len(chunk)
            self._left_bytes -= seen.st_size
        target.chmod(0o644 | (seen.st_mode & 0o111))
        return True

    def unlink_strays(self) -> None:
        """Remove links that lead out; only with all of them in place can it be told which do."""
        home = self._target.resolve()
        for link in self._links:
            if not Path(os.path.realpath(link)).is_relative_to(home):  # circles stay, harmless
                link.unlink()

    def _entry(self, place: int, name: str, target: Path, depth: int) -> None:
        mode = mode_of(name, place)
        if target.is_symlink():  # of an earlier download
            target.unlink()
        if stat.S_ISDIR(mode):
            target.mkdir(exist_ok=True)
            with opened(name, place) as inner:
                self.folder(inner, target, depth + 1)
        elif stat.S_ISLNK(mode):
            target.symlink_to(os.readlink(name, dir_fd=place))
            self._links.append(target)
        else:
            self.file(place, name, target)
