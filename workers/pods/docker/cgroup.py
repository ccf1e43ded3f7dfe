"""A container's control group, found and read on the host that runs it."""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ...meters.cgroup import Reading, count, flat_keyed, quota_v1, quota_v2, read_v1, read_v2
from ..killing import kill_all

MOUNT = Path("/sys/fs/cgroup")
PROC = Path("/proc")
ABSENT = Path("/nonexistent")
FREEZE_TIMEOUT_S = 0.5
NEARLY_ENDLESS = 1 << 60  # cgroup v1 says "no limit" with the largest number of pages
_FREEZER = {1: ("freezer.state", "FROZEN", "THAWED"), 2: ("cgroup.freeze", "1", "0")}


@dataclass(frozen=True, slots=True)
class InForce:
    """Limits as the kernel holds them; None: no limit."""

    memory_floor_bytes: int | None
    memory_ceiling_bytes: int | None
    memory_and_swap_bytes: int | None
    cpu_shares: int | None
    cpu_ceiling: float | None
    cpuset: str | None
    pids: int | None


@dataclass(frozen=True, slots=True)
class HostCgroup:
    """Where a container's control group lies: one folder on v2, one per controller on v1."""

    version: int
    folders: dict[str, Path]

    def folder(self, controller: str) -> Path:
        """The folder that holds a controller's files; one that is not there if it has none."""
        return self.folders.get(controller if self.version == 1 else "", ABSENT)

    def read(self) -> Reading:
        """Read all numbers now. Files that are not there read as None."""
        return read_v1(self.folders) if self.version == 1 else read_v2(self.folder(""))

    def in_force(self) -> InForce:
        """Read the limits back."""
        return _limits_v1(self) if self.version == 1 else _limits_v2(self.folder(""))

    def pids(self) -> list[int]:
        """The processes in it that still run (zombies are not listed)."""
        try:
            text = (self.folder("memory") / "cgroup.procs").read_text()
        except OSError:
            return []
        return [int(line) for line in text.split()]

    def oom_kills(self) -> int | None:
        """How many processes the kernel has killed here for memory."""
        memory = self.folder("memory")
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        return flat_keyed(_text(memory / name)).get("oom_kill")

    def kill(self, keep: Collection[int]) -> int | None:
        """Kill every process but `keep`, also those that fork meanwhile.

        Returns: how many there were; None if this user may not signal them, or if some do not
            die (a process in an uninterruptible wait) within ten seconds.
        """
        try:
            killed = kill_all(lambda: self.pids_but(keep), self._freeze)
        except PermissionError:
            return None
        return None if self.pids_but(keep) else killed

    def pids_but(self, keep: Collection[int]) -> list[int]:
        """The running processes that are not to be kept."""
        return [pid for pid in self.pids() if pid not in keep]

    def _freeze(self, on: bool) -> None:
        """Stop the group for a moment where that is permitted; on v1 the dead fall at the thaw."""
        file, *words = _FREEZER[self.version]
        with suppress(OSError):
            (self.folder("freezer") / file).write_text(words[0 if on else 1])
            deadline = time.monotonic() + FREEZE_TIMEOUT_S
            while on and not self._is_frozen() and time.monotonic() < deadline:
                time.sleep(0.0005)

    def _is_frozen(self) -> bool:
        if self.version == 1:
            return _text(self.folder("freezer") / "freezer.state") == "FROZEN"
        return flat_keyed(_text(self.folder("") / "cgroup.events")).get("frozen") == 1


def of_process(
    pid: int, container: str, *, proc: Path = PROC, mount: Path = MOUNT
) -> HostCgroup | None:
    """The control group of a container by its PID 1, as the host numbers it.

    None if that process is not here, or is not that container's: the engine runs elsewhere.
    """
    try:
        listing = (proc / str(pid) / "cgroup").read_text()
    except OSError:
        return None
    folders = located(listing, mount)
    version = 1 if "memory" in folders else 2
    place = folders.get("memory") or folders.get("")
    if place is None or container not in place.as_posix() or not place.is_dir():
        return None
    return HostCgroup(version, folders)


def located(listing: str, mount: Path = MOUNT) -> dict[str, Path]:
    """`/proc/PID/cgroup` as folders by controller; the unified hierarchy's key is "".

    >>> located("4:memory:/docker/f00\\n0::/docker/f00\\n")["memory"].as_posix()
    '/sys/fs/cgroup/memory/docker/f00'
    """
    folders: dict[str, Path] = {}
    for line in listing.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            folders[name] = mount / name / path.lstrip("/")
    return folders


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _limit(path: Path) -> int | None:
    value = count(_text(path))
    return value if value is not None and value < NEARLY_ENDLESS else None


def _limits_v1(group: HostCgroup) -> InForce:
    memory, cpu = group.folder("memory"), group.folder("cpu")
    quota = _text(cpu / "cpu.cfs_quota_us") or "-1"
    return InForce(
        memory_floor_bytes=_limit(memory / "memory.soft_limit_in_bytes"),
        memory_ceiling_bytes=_limit(memory / "memory.limit_in_bytes"),
        memory_and_swap_bytes=_limit(memory / "memory.memsw.limit_in_bytes"),
        cpu_shares=_limit(cpu / "cpu.shares"),
        cpu_ceiling=quota_v1(quota, _text(cpu / "cpu.cfs_period_us") or "1"),
        cpuset=_text(group.folder("cpuset") / "cpuset.cpus") or None,
        pids=_limit(group.folder("pids") / "pids.max"),
    )


def _limits_v2(folder: Path) -> InForce:
    ceiling, swap = _limit(folder / "memory.max"), _limit(folder / "memory.swap.max")
    return InForce(
        memory_floor_bytes=_limit(folder / "memory.low") or None,
        memory_ceiling_bytes=ceiling,
        memory_and_swap_bytes=None if ceiling is None or swap is None else ceiling + swap,
        cpu_shares=None,  # runtimes turn shares into weights by more than one formula
        cpu_ceiling=quota_v2(_text(folder / "cpu.max") or "max 1"),
        cpuset=_text(folder / "cpuset.cpus.effective") or None,
        pids=_limit(folder / "pids.max"),
    )
