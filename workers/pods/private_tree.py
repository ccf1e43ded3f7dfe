"""A pod's private file tree: made from a template, filled, read from, measured, removed.

It is a folder on disk, not a tmpfs, so that its pages are not the pod's memory. What a pod
leaves in it is hostile, and may change while we look: every step into it is by folder descriptor
with O_NOFOLLOW, so no link in it is ever followed, and nothing outside it is touched.
"""

import contextlib
import errno
import hashlib
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...models.errors import PodLost
from .userland import STICKY, Userland

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
ENTRIES_LIMIT, DEPTH_LIMIT, LINKS_LIMIT = 200_000, 100, 40
COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Owner:
    """Who owns what is put into the tree; None leaves it to whoever runs us."""

    uid: int
    gid: int


def slug(name: str) -> str:
    """A file name for any name: itself where that is safe, else its beginning and a digest.

    >>> slug("a-1"), slug("../x")[:4]
    ('a-1', '___x')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if safe == name and 0 < len(name) <= 80:
        return name
    return f"{safe[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def furnish(root: Path, userland: Userland, template: Path | None, workdir: str) -> None:
    """Fill a fresh tree: the folders, links and files of every pod, then the template's files."""
    for folder in (*userland.folders, *(place for _, place in userland.binds)):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for place, target in userland.links:
        (root / place).symlink_to(target)
    for place, content in userland.files:
        (root / place).write_bytes(content)
    for _, place in userland.devices:
        (root / place).touch()
    for folder in STICKY:
        (root / folder).chmod(0o1777)
    if template is not None:
        shutil.copytree(template, root, symlinks=True, dirs_exist_ok=True)
    (root / workdir.lstrip("/")).mkdir(parents=True, exist_ok=True)


def identity(root: Path, user: str) -> tuple[int, int]:
    """(uid, gid) of a `name`, `uid`, or `uid:gid`, by the tree's own passwd file.

    Raises:
        PodLost: the tree has no such user.
    """
    name, _, group = user.partition(":")
    if name.isdigit():
        return int(name), int(group) if group.isdigit() else int(name)
    with _reached(root, ("etc", "passwd")) as (place, file):
        handle = os.open(file, READ, dir_fd=place)
    with os.fdopen(handle, "rb") as reader:
        rows = reader.read(COPY_BYTES).decode(errors="replace").splitlines()
    for fields in (row.split(":") for row in rows):
        if fields[0] == name and len(fields) > 3:
            return int(fields[2]), int(fields[3])
    raise PodLost(f"the pod has no user {user!r}")


def give(root: Path, owner: Owner) -> None:
    """Change the owner of a tree that no pod has touched yet."""
    os.chown(root, owner.uid, owner.gid)
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.lchown(os.path.join(folder, name), owner.uid, owner.gid)  # noqa: PTH118 (hot)


def allocated_bytes(root: Path) -> int:
    """Disk space of a tree, 1 KiB granular; hard links once, other file systems not."""
    told = subprocess.run(["du", "-skx", str(root)], capture_output=True, check=False)
    return int(told.stdout.split()[0]) * 1024 if told.stdout else 0


def remove(root: Path) -> None:
    """Remove a tree, however deep, and whatever modes its folders were given."""
    try:
        shutil.rmtree(root)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        subprocess.run(["chmod", "-R", "u+rwX", str(root)], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def put(root: Path, source: Path, target: PurePosixPath, owner: Owner | None) -> None:
    """Copy a file, or a folder's contents, to an absolute path of the tree.

    A link that stands where a folder or file must be is replaced. Links in source stay links.

    Raises:
        PodLost: the tree does not let itself be written, with the reason.
    """
    is_folder = source.is_dir()
    names = target.relative_to("/").parts
    try:
        with _folder(root, names if is_folder else names[:-1], owner) as place:
            if is_folder:
                _put_contents(source, place, owner)
            else:
                _put_file(source, place, names[-1], owner)
    except OSError as problem:
        raise PodLost(f"cannot copy {source} to {target} in the pod: {problem}") from problem


def get(root: Path, source: PurePosixPath, target: Path, budget_bytes: int) -> bool:
    """Copy an absolute path of the tree out to target; False if there is none.

    A link at or above source is followed as the pod would, within the tree.
    Left out: what is neither file, folder nor link, links that leave target, files that cannot
    be read, and what does not fit into budget_bytes, 200,000 entries, or a depth of 100.
    """
    names = source.relative_to("/").parts
    taking = _Taking(target, budget_bytes)
    try:
        with _reached(root, names) as (parent, name):
            if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return taking.file(parent, name, target)
            target.mkdir(parents=True, exist_ok=True)
            with _opened(name, parent) as place:
                taking.folder(place, target, 0)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as problem:
        if problem.errno == errno.ELOOP:  # links in a circle, or one that appeared meanwhile
            return False
        raise
    taking.unlink_strays()
    return True


@contextlib.contextmanager
def _opened(name: str | Path, parent: int | None = None) -> Iterator[int]:
    handle = os.open(name, FOLDER, dir_fd=parent)
    try:
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def _reached(root: Path, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """The folder of a path below root, and the path's last name in it.

    Links on the way are followed by hand, as the pod would see them: what is absolute begins at
    root, and `..` does not leave it.
    """
    ahead, hops = list(reversed(names)), 0
    with contextlib.ExitStack() as stack:
        trail = [stack.enter_context(_opened(root))]
        last = "."
        while ahead:
            name = ahead.pop()
            if name == "..":
                del trail[max(1, len(trail) - 1) :]
                continue
            if stat.S_ISLNK(os.stat(name, dir_fd=trail[-1], follow_symlinks=False).st_mode):
                hops += 1
                if hops > LINKS_LIMIT:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = PurePosixPath(os.readlink(name, dir_fd=trail[-1]))
                if target.is_absolute():
                    del trail[1:]
                ahead += reversed([part for part in target.parts if part != "/"])
            elif ahead:
                trail.append(stack.enter_context(_opened(name, trail[-1])))
            else:
                last = name
        yield trail[-1], last


@contextlib.contextmanager
def _folder(root: Path, names: tuple[str, ...], owner: Owner | None) -> Iterator[int]:
    """The folder at names below root, made where it is missing or a link."""
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(_opened(root))
        for name in names:
            _ensure_folder(place, name, owner)
            place = stack.enter_context(_opened(name, place))
        yield place


def _ensure_folder(parent: int, name: str, owner: Owner | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=parent)
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return
    if owner is not None:
        os.chown(name, owner.uid, owner.gid, dir_fd=parent, follow_symlinks=False)


def _put_contents(source: Path, place: int, owner: Owner | None) -> None:
    with os.scandir(source) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _ensure_folder(place, entry.name, owner)
                with _opened(entry.name, place) as inner:
                    _put_contents(Path(entry.path), inner, owner)
            else:
                _put_file(Path(entry.path), place, entry.name, owner)


def _put_file(source: Path, place: int, name: str, owner: Owner | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=place)
    if source.is_symlink():
        os.symlink(source.readlink(), name, dir_fd=place)
    elif source.is_file():
        handle = os.open(name, CREATE, source.stat().st_mode & 0o777, dir_fd=place)
        with source.open("rb") as reader, os.fdopen(handle, "wb") as writer:
            shutil.copyfileobj(reader, writer, COPY_BYTES)
            os.fchmod(writer.fileno(), source.stat().st_mode & 0o777)
    else:
        return
    if owner is not None:
        os.chown(name, owner.uid, owner.gid, dir_fd=place, follow_symlinks=False)


class _Taking:
    """One download: how much may still be taken, and where it must stay."""

    def __init__(self, target: Path, budget_bytes: int) -> None:
        self._target = target
        self._left_bytes = budget_bytes
        self._left_entries = ENTRIES_LIMIT
        self._links: list[Path] = []

    def folder(self, place: int, target: Path, depth: int) -> None:
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
            with target.open("xb") as writer:
                self._copy(reader.fileno(), writer.fileno(), seen.st_size)
        target.chmod(0o644 | (seen.st_mode & 0o111))
        return True

    def _copy(self, reader: int, writer: int, size_bytes: int) -> None:
        """Copy what the file held when it was opened; what it grows by meanwhile is not ours."""
        while size_bytes > 0 and (chunk := os.read(reader, min(COPY_BYTES, size_bytes))):
            os.write(writer, chunk)
            size_bytes -= len(chunk)
            self._left_bytes -= len(chunk)

    def _entry(self, place: int, name: str, target: Path, depth: int) -> None:
        mode = os.stat(name, dir_fd=place, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            target.mkdir(exist_ok=True)
            with _opened(name, place) as inner:
                self.folder(inner, target, depth + 1)
        elif stat.S_ISLNK(mode):
            self._link(os.readlink(name, dir_fd=place), target)
        else:
            self.file(place, name, target)

    def _link(self, leads_to: str, target: Path) -> None:
        target.unlink(missing_ok=True)
        target.symlink_to(leads_to)
        self._links.append(target)

    def unlink_strays(self) -> None:
        """Remove links that lead out; only with all of them in place can it be told which do."""
        home = self._target.resolve()
        for link in self._links:
            if not Path(os.path.realpath(link)).is_relative_to(home):  # circles stay, harmless
                link.unlink()
