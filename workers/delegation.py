"""Which control groups this user may make, and with which controllers.

Asks the same questions as the process pods' ladder of enforcement, without moving any process.
"""

import os
import tempfile
from pathlib import Path

from .meters.procfs import Files
from .tryout import tried

CONTROLLERS = {1: ("memory", "cpu", "cpuacct", "pids"), 2: ("memory", "cpu", "pids")}
# A scope of our own from the user's systemd, which ends at once with the controllers that it had.
SCOPE = ("--user", "--scope", "--quiet", "--collect", "-p", "Delegate=yes", "sh", "-c")
CONTROLLERS_HERE = 'cat "/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/cgroup.controllers"'


def cgroup_parents(files: Files, version: int | None, *, root: bool) -> dict[str, Path]:
    """Where pods' control groups would be made, as a folder for each controller that is there.

    Version 1: in the group that we are in. Version 2: there too, but for root at the top.
    """
    mounts = [line.split() for line in (files.text("proc/mounts") or "").splitlines()]
    own = _own_groups(files.text("proc/self/cgroup") or "")
    parents: dict[str, Path] = {}
    for _, point, kind, options, *_ in mounts:
        if version == 1 and kind == "cgroup":
            for name in set(options.split(",")) & set(own):
                parents[name] = Path(point, own[name])
        if version == 2 and kind == "cgroup2":
            group = Path(point, "" if root else own.get("", ""))
            available = (files.text(str(group / "cgroup.controllers")[1:]) or "").split()
            parents |= dict.fromkeys(available, group)
    return parents


def _own_groups(text: str) -> dict[str, str]:
    """Path of our group by controller, from /proc/self/cgroup; "" is the unified hierarchy's."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: row[2].lstrip("/") for row in rows for name in row[1].split(",")}


def why_no_group(controller: str, parent: Path | None) -> str:
    """Why a group with a controller cannot be made below a parent; "" when it can.

    A version 2 parent hands a controller on only when it is the top of the hierarchy, does so
    already, or holds no process but ours, which may move down.
    """
    if parent is None:
        return "the kernel has no such controller here"
    try:
        scratch = Path(tempfile.mkdtemp(prefix=f"infranoise-doctor-{os.getpid()}-", dir=parent))
    except OSError as error:
        return f"{error.strerror} in {parent}"
    handed_on = (scratch / f"{controller}.max").exists()
    scratch.rmdir()
    top = not (parent / "cgroup.type").exists()  # also of every version 1 group
    if handed_on or top or _inhabitants(parent) <= {os.getpid()}:
        return ""
    return f"{parent} has other processes in it and so hands no controller on"


def _inhabitants(group: Path) -> set[int]:
    try:
        return {int(line) for line in (group / "cgroup.procs").read_text().split()}
    except OSError:
        return set()


def accounts_swap(parent: Path | None, version: int | None) -> bool | None:
    """Whether a group's swap can be limited; None where there is no memory controller."""
    if parent is None:
        return None
    if version == 1:
        return (parent / "memory.memsw.limit_in_bytes").exists()
    # The root group has no such file, and a group has it only where its parent hands memory on.
    return any(any(above.glob("*/memory.swap.max")) for above in (parent, *parent.parents))


def why_no_scope() -> str:
    """Why the user's systemd gives us no group of our own with a memory controller."""
    said, why_not = tried("systemd-run", *SCOPE, CONTROLLERS_HERE)
    if why_not or "memory" in said.split():
        return why_not
    return f"systemd hands this user only {said.strip() or 'no controllers'}"
