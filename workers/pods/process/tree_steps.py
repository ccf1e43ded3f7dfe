"""Steps into a file tree that somebody hostile may change meanwhile.

Each step opens one folder by its parent's descriptor with O_NOFOLLOW. So the kernel follows no
link for us, and whatever is swapped between two steps, nothing outside the tree is reached.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LINKS_LIMIT = 40  # as in Linux


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns what is put into a tree."""

    uid: int
    gid: int


@contextlib.contextmanager
def opened(name: str | Path, parent: int | None = None) -> Iterator[int]:
    """A folder's descriptor; OSError if it is none, or a link."""
    handle = os.open(name, FOLDER, dir_fd=parent)
    try:
        yield handle
    finally:
        os.close(handle)


def mode_of(name: str, parent: int) -> int:
    """The mode of an entry, of a link its own."""
    return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode


@contextlib.contextmanager
def reached(root: Path, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The folder of a path below root, and the path's last name in it, which is no link.

    Links on the way are followed by hand, as somebody would whose root is root: what is absolute
    begins there, and `..` does not leave it. OSError where the path leads nowhere.
    """
    ahead, hops = list(reversed(names)), 0
    last = "."
    with contextlib.ExitStack() as stack:
        trail = [stack.enter_context(opened(root))]
        while ahead:
            name = ahead.pop()
            if name == "..":
                del trail[max(1, len(trail) - 1) :]
            elif stat.S_ISLNK(mode_of(name, trail[-1])):
                hops += 1
                if hops > LINKS_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = PurePosixPath(os.readlink(name, dir_fd=trail[-1]))
                del trail[1 if target.is_absolute() else len(trail) :]
                ahead += reversed([part for part in target.parts if part != "/"])
            elif ahead:
                trail.append(stack.enter_context(opened(name, trail[-1])))
            else:
                last = name
        yield trail[-1], last


@contextlib.contextmanager
def ensured(root: Path, names: tuple[str, ...], owner: Owner | None) -> Iterator[int]:
    """The folder at names below root, made where it is missing or a link."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(opened(root))
        for name in names:
            place = stack.enter_context(ensured_folder(place, name, owner))
        yield place


@contextlib.contextmanager
def ensured_folder(parent: int, name: str, owner: Owner | None, mode: int = 0o755) -> Iterator[int]:
    """The folder of that name: a link is replaced by one, one that is there stays as it is."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(mode_of(name, parent)):
            os.unlink(name, dir_fd=parent)
    try:
        os.mkdir(name, mode, dir_fd=parent)
        fresh = True
    except FileExistsError:
        fresh = False
    with opened(name, parent) as place:
        if fresh:
            os.fchmod(place, mode)  # the worker's umask may be any
            take_over(name, parent, owner)
        yield place


def take_over(name: str, parent: int, owner: Owner | None) -> None:
    """Give an entry to its owner; None leaves it to whoever runs us."""
    if owner is not None:
        os.chown(name, owner.uid, owner.gid, dir_fd=parent, follow_symlinks=False)
