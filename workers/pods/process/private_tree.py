"""A pod's private file tree: furnished, looked up in, removed.

It is a folder on disk, not a tmpfs, so that its pages are not the pod's memory. Once a pod runs,
what is in it is hostile: see `tree_steps` and `tree_copy` for how it is entered then.
"""

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

from ....models.errors import PodLost
from . import tree_copy
from .tree_steps import READ, Owner, reached
from .userland import STICKY, Userland

PASSWD_BYTES = 1 << 20


def slug(name: str) -> str:
    """A file name for any name: itself where that is safe, else its beginning and a digest.

    >>> slug("a-1"), slug("../x")[:4]
    ('a-1', '___x')
    """
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if safe == name and 0 < len(name) <= 80:
        return name
    return f"{safe[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"


def furnish(root: Path, userland: Userland, owner: Owner | None) -> None:
    """Fill a fresh tree with the folders, links and files of every pod, and places to mount on."""
    top = str(root)  # this runs for every pod, and paths as text take a third of the time
    os.chmod(top, 0o755)  # noqa: PTH101
    for folder in userland.folders:
        os.mkdir(f"{top}/{folder}")  # noqa: PTH102
        os.chmod(f"{top}/{folder}", 0o755)  # noqa: PTH101  (the worker's umask may be any)
    for place, target in userland.links:
        os.symlink(target, f"{top}/{place}")  # noqa: PTH211
    for place, content in (*userland.files, *((place, b"") for _, place in userland.devices)):
        _write(f"{top}/{place}", content)
    for folder in STICKY:
        os.chmod(f"{top}/{folder}", 0o1777)  # noqa: PTH101
    if owner is not None:
        for place in ("", *userland.places()):
            os.lchown(f"{top}/{place}", owner.uid, owner.gid)


def _write(path: str, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC)
    try:
        os.write(handle, content)
        os.fchmod(handle, 0o644)
    finally:
        os.close(handle)


def settle(root: Path, template: Path, workdir: PurePosixPath, owner: Owner | None) -> None:
    """Add a task's files. They are hostile too: a link among them is never written through."""
    tree_copy.put(root, template, PurePosixPath("/"), owner)
    tree_copy.make_folder(root, workdir, owner)


def identity(root: Path, user: str) -> tuple[int, int]:
    """(uid, gid) of a `name`, `uid`, or `uid:gid`, by the tree's own passwd file.

    Raises:
        PodLost: the tree has no such user.
    """
    name, _, group = user.partition(":")
    if name.isdigit():
        return int(name), int(group) if group.isdigit() else int(name)
    found = re.search(rf"^{re.escape(name)}:[^:]*:(\d+):(\d+):", _passwd(root), re.MULTILINE)
    if found is None:
        raise PodLost(f"the pod has no user {user!r}")
    return int(found[1]), int(found[2])


def remove(root: Path) -> None:
    """Remove a tree, however deep, and whatever modes its folders were given."""
    try:
        shutil.rmtree(root)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        subprocess.run(["chmod", "-R", "u+rwX", str(root)], capture_output=True, check=False)
        subprocess.run(["rm", "-rf", "--one-file-system", str(root)], check=False)


def _passwd(root: Path) -> str:
    try:
        with reached(root, ("etc", "passwd")) as (place, name):
            handle = os.open(name, READ, dir_fd=place)
        with os.fdopen(handle, "rb") as reader:
            return reader.read(PASSWD_BYTES).decode(errors="replace")
    except OSError as problem:
        raise PodLost(f"the pod's /etc/passwd cannot be read: {problem}") from problem
