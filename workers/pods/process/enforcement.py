"""How this machine can hold a pod to its limits: the best rung of a ladder that carries.

`cgroup-v1`, `cgroup-v2`, `systemd-scope` (a v2 subtree that the user's systemd hands us), and
`watchdog` (we poll and kill ourselves, which misses short spikes, and every record says so).
BenchExec finds, and where it can prepares, the cgroup in which pods' cgroups may be made.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchexec.cgroups import CGROUPS_V1, CGROUPS_V2, Cgroups

from ....models.errors import StartFailed
from .cgroup_v1 import CONTROLLERS, CgroupV1
from .cgroup_v2 import CgroupV2

Enforcement = Literal["cgroup-v1", "cgroup-v2", "systemd-scope", "watchdog"]
ADOPTION_TIMEOUT_S = 5.0
MOUNT_V2 = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Grounds:
    """Where pods' cgroups are made: parent folders by controller (v2: one, named "")."""

    enforcement: Enforcement
    parents: tuple[tuple[str, Path], ...] = ()

    def group(self, name: str) -> CgroupV1 | CgroupV2:
        """The group of one pod, not yet made."""
        folders = {controller: parent / name for controller, parent in self.parents}
        if self.enforcement == "cgroup-v1":
            return CgroupV1(folders)
        return CgroupV2(folders[""], self.enforcement)


def choose(forced: Enforcement | None = None) -> Grounds:
    """The best rung that carries here, or the forced one.

    Raises:
        StartFailed: the forced rung does not carry.
    """
    rungs: dict[Enforcement, Callable[[], Grounds | None]] = {
        "cgroup-v1": v1_grounds,
        "cgroup-v2": v2_grounds,
        "systemd-scope": scope_grounds,
        "watchdog": lambda: Grounds("watchdog"),
    }
    for name, rung in rungs.items():
        if forced in (None, name) and (grounds := rung()) is not None:
            return grounds
    raise StartFailed(f"this machine cannot enforce limits by {forced}; see `infranoise doctor`")


def v1_grounds() -> Grounds | None:
    """The cgroups that we are in, when pods' cgroups can be made below them."""
    found = Cgroups.initialize((CGROUPS_V1,))
    parents = tuple((name, Path(found[name])) for name in CONTROLLERS if name in found)
    usable = tuple(pair for pair in parents if _writable(pair[1]))
    if "memory" not in dict(usable):
        return None
    return _proven(Grounds("cgroup-v1", usable), "memory.limit_in_bytes")


def v2_grounds(enforcement: Enforcement = "cgroup-v2") -> Grounds | None:
    """A delegated v2 subtree: BenchExec's (it may move this process into a child), or root's."""
    found = Cgroups.initialize((CGROUPS_V2,))
    if "memory" in found:
        grounds = Grounds(enforcement, (("", Path(found["memory"])),))
        if proven := _proven(grounds, "memory.max"):
            return proven
    if os.geteuid() == 0 and (MOUNT_V2 / "cgroup.controllers").exists():
        return root_grounds(MOUNT_V2)
    return None


def root_grounds(mount: Path) -> Grounds | None:
    """A cgroup `infranoise` at the top of the hierarchy, for a worker that runs as root."""
    parent = mount / "infranoise"
    try:
        parent.mkdir(exist_ok=True)
        for folder in (mount, parent):
            (folder / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    except OSError:
        return None
    return _proven(Grounds("cgroup-v2", (("", parent),)), "memory.max")


def scope_grounds() -> Grounds | None:
    """A v2 subtree from the user's systemd: it adopts this very process into a new scope."""
    if shutil.which("busctl") is None:
        return None
    told = subprocess.run(adoption(os.getpid()), capture_output=True, check=False)
    if told.returncode != 0 or not _moved(f"infranoise-{os.getpid()}.scope"):
        return None
    return v2_grounds("systemd-scope")


def adoption(pid: int) -> tuple[str, ...]:
    """The call that has systemd put a running process into a scope of its own, delegated to us.

    What `systemd-run --user --scope -p Delegate=yes` does for a new command; a scope per pod
    would not do, since only systemd may move a process across from a session into it.
    """
    manager = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
    method = ("org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))")
    scope = (f"infranoise-{pid}.scope", "fail")
    properties = ("2", "PIDs", "au", "1", str(pid), "Delegate", "b", "true", "0")
    return ("busctl", "--user", "call", *manager, *method, *scope, *properties)


def _moved(scope: str) -> bool:
    """Whether we arrive in the scope; systemd answers before it has moved us."""
    deadline = time.monotonic() + ADOPTION_TIMEOUT_S
    while time.monotonic() < deadline:
        if scope in Path("/proc/self/cgroup").read_text():
            return True
        time.sleep(0.01)
    return False


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _proven(grounds: Grounds, file: str) -> Grounds | None:
    """The grounds, if a group made there has the file that limits memory."""
    group = grounds.group(f"infranoise-probe-{os.getpid()}")
    try:
        group.make()
        try:
            carries = any((folder / file).exists() for folder in group.folders())
        finally:
            group.remove()
    except OSError:
        return None
    return grounds if carries else None
