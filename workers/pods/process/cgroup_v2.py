"""A pod's cgroup, version 2: one folder in a subtree that was delegated to us."""

import contextlib
from pathlib import Path

from ....models.errors import StartFailed
from ....models.limits import Effective, Limits, OomScope
from ...meters.cgroup import Reading, count, quota_v2, read_v2
from ..killing import kill_all, remove_folder
from .group import (
    CPU_PERIOD_US,
    SAMPLE_EVERY_S,
    Setting,
    cpu_quota_us,
    cpu_shares,
    differences,
    shares_of,
    weight_of,
    write,
)


def settings(limits: Limits) -> tuple[Setting, ...]:
    """Limits as v2 values.

    The floor is `memory.low`, not `memory.min`: reclaim spares it, but where floors add up to
    more than the machine has, the kernel may still reclaim instead of killing bystanders.
    """
    ceiling, floor = limits.memory_ceiling_bytes, limits.memory_floor_bytes
    group_kill = "1" if limits.oom_scope == "pod" else "0"
    wanted = [
        Setting("pids", "pids.max", str(limits.pids)),
        Setting("memory", "memory.oom.group", group_kill),
    ]
    if ceiling is not None:
        wanted.append(Setting("memory", "memory.max", str(ceiling), essential=True))
        wanted.append(Setting("memory", "memory.swap.max", str(limits.swap_bytes)))
    if floor is not None:
        wanted.append(Setting("memory", "memory.low", str(floor)))
    if limits.cpu_floor is not None:
        weight = weight_of(cpu_shares(limits.cpu_floor))
        wanted.append(Setting("cpu", "cpu.weight", str(weight)))
    if limits.cpu_ceiling is not None:
        quota = f"{cpu_quota_us(limits.cpu_ceiling)} {CPU_PERIOD_US}"
        wanted.append(Setting("cpu", "cpu.max", quota))
    return tuple(wanted)


def effective(folder: Path, limits: Limits, enforcement: str) -> Effective:
    """Read back what is in force; storage is enforced by us, so as asked."""
    ceiling, swap = _number(folder, "memory.max"), _number(folder, "memory.swap.max")
    weight, quota = _number(folder, "cpu.weight"), _text(folder, "cpu.max")
    scopes: dict[int | None, OomScope] = {0: "process", 1: "pod"}
    found = Effective(
        memory_floor_bytes=_number(folder, "memory.low") or None,
        memory_ceiling_bytes=ceiling,
        memory_and_swap_bytes=None if ceiling is None or swap is None else ceiling + swap,
        cpu_shares=None if weight is None else shares_of(weight),
        cpu_ceiling=None if quota is None else quota_v2(quota),
        storage_ceiling_bytes=limits.storage_ceiling_bytes,
        pids=_number(folder, "pids.max"),
        oom_scope=scopes.get(_number(folder, "memory.oom.group")),
        enforcement=enforcement,
    )
    return found.model_copy(update={"differs": differences(limits, found)})


class CgroupV2:
    """One v2 cgroup, named after the attempt. `enforcement` says how we came by the subtree."""

    look_every_s = SAMPLE_EVERY_S

    def __init__(self, folder: Path, enforcement: str = "cgroup-v2") -> None:
        self.enforcement = enforcement
        self._folder = folder

    def folders(self) -> tuple[Path, ...]:
        """Its one folder, whether or not it exists."""
        return (self._folder,)

    def make(self) -> None:
        """Make the folder; FileExistsError when an attempt of that name is there already."""
        self._folder.mkdir()

    def joins(self) -> tuple[Path, ...]:
        """As `Group.joins` says."""
        return (self._folder / "cgroup.procs",)

    def apply(self, limits: Limits) -> Effective:
        """As `Group.apply` says."""
        for setting in settings(limits):
            try:
                write(self._folder / setting.file, setting.value)
            except OSError as problem:
                if setting.essential:
                    reason = f"the kernel refuses {setting.file} = {setting.value}: {problem}"
                    raise StartFailed(reason) from problem
        return effective(self._folder, limits, self.enforcement)

    def follow(self, pid: int) -> None:
        """As `Group.follow` says."""

    def look(self) -> Reading:
        """As `Group.look` says."""
        return read_v2(self._folder)

    def oom_event(self) -> int | None:
        """None: `memory.oom.group` has the kernel kill the pod at once, nobody need be told."""
        return None

    def members(self) -> tuple[int, ...]:
        """The processes in it now."""
        try:
            return tuple(map(int, (self._folder / "cgroup.procs").read_text().split()))
        except OSError:
            return ()

    def kill(self) -> int:
        """As the group says; `cgroup.kill` (Linux 5.14) does it in one stroke."""
        seen = len(self.members())
        with contextlib.suppress(OSError):
            write(self._folder / "cgroup.kill", "1")
        return max(seen, kill_all(self.members, self._freeze))

    def remove(self) -> None:
        """As `Group.remove` says."""
        self.kill()
        remove_folder(self._folder)

    def _freeze(self, frozen: bool) -> None:
        with contextlib.suppress(OSError):
            write(self._folder / "cgroup.freeze", "1" if frozen else "0")


def _text(folder: Path, name: str) -> str | None:
    try:
        return (folder / name).read_text()
    except OSError:
        return None


def _number(folder: Path, name: str) -> int | None:
    text = _text(folder, name)
    return None if text is None else count(text)
