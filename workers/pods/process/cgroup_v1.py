"""A pod's cgroup, version 1: one folder per controller, each in a hierarchy of its own."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from ....models.errors import StartFailed
from ....models.limits import Effective, Limits
from ...meters.cgroup import Reading, count, quota_v1, read_v1
from ..killing import kill_all, remove_folder
from .group import (
    CPU_PERIOD_US,
    SAMPLE_EVERY_S,
    Setting,
    cpu_quota_us,
    cpu_shares,
    differences,
    write,
)

CONTROLLERS = ("memory", "cpu", "cpuacct", "pids", "freezer")
UNLIMITED_BYTES = 1 << 62  # the kernel shows "no limit" as the largest page-aligned number


def settings(limits: Limits) -> tuple[Setting, ...]:
    """Limits as v1 values, in the order in which the kernel takes them.

    The floor is a soft limit: what the kernel leaves to the pod when memory runs short.
    """
    ceiling, floor = limits.memory_ceiling_bytes, limits.memory_floor_bytes
    wanted = [Setting("pids", "pids.max", str(limits.pids))]
    if ceiling is not None:
        wanted.append(Setting("memory", "memory.limit_in_bytes", str(ceiling), essential=True))
        with_swap = str(ceiling + limits.swap_bytes)
        wanted.append(Setting("memory", "memory.memsw.limit_in_bytes", with_swap))
    if floor is not None:
        wanted.append(Setting("memory", "memory.soft_limit_in_bytes", str(floor)))
    if limits.cpu_floor is not None:
        wanted.append(Setting("cpu", "cpu.shares", str(cpu_shares(limits.cpu_floor))))
    if limits.cpu_ceiling is not None:
        wanted.append(Setting("cpu", "cpu.cfs_period_us", str(CPU_PERIOD_US)))
        wanted.append(Setting("cpu", "cpu.cfs_quota_us", str(cpu_quota_us(limits.cpu_ceiling))))
    return tuple(wanted)


def effective(folders: Mapping[str, Path], limits: Limits) -> Effective:
    """Read back what is in force; `oom_scope` and storage are enforced by us, so as asked."""
    memory, cpu = folders.get("memory"), folders.get("cpu")
    quota = _text(cpu, "cpu.cfs_quota_us")
    found = Effective(
        memory_floor_bytes=_limit(memory, "memory.soft_limit_in_bytes"),
        memory_ceiling_bytes=_limit(memory, "memory.limit_in_bytes"),
        memory_and_swap_bytes=_limit(memory, "memory.memsw.limit_in_bytes"),
        cpu_shares=_limit(cpu, "cpu.shares"),
        cpu_ceiling=None
        if quota is None
        else quota_v1(quota, _text(cpu, "cpu.cfs_period_us") or ""),
        storage_ceiling_bytes=limits.storage_ceiling_bytes,
        pids=_limit(folders.get("pids"), "pids.max"),
        oom_scope=limits.oom_scope,
        enforcement=CgroupV1.enforcement,
    )
    return found.model_copy(update={"differs": differences(limits, found)})


class CgroupV1:
    """One v1 cgroup per controller, named after the attempt."""

    enforcement = "cgroup-v1"
    look_every_s = SAMPLE_EVERY_S

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = dict(folders)
        self._oom_event: int | None = None

    def folders(self) -> tuple[Path, ...]:
        """Its folders, whether or not they exist."""
        return tuple(dict.fromkeys(self._folders.values()))

    def make(self) -> None:
        """Make the folders; FileExistsError when an attempt of that name is there already."""
        for folder in self.folders():
            folder.mkdir()

    def joins(self) -> tuple[Path, ...]:
        """As `Group.joins` says."""
        return tuple(folder / "cgroup.procs" for folder in self.folders())

    def apply(self, limits: Limits) -> Effective:
        """As `Group.apply` says."""
        for setting in settings(limits):
            folder = self._folders.get(setting.controller)
            try:
                if folder is not None:
                    write(folder / setting.file, setting.value)
            except OSError as problem:
                if setting.essential:
                    reason = f"the kernel refuses {setting.file} = {setting.value}: {problem}"
                    raise StartFailed(reason) from problem
        try:
            self._oom_event = self._subscribe()
        except OSError as problem:
            if limits.oom_scope == "pod":
                raise StartFailed(f"the kernel tells nobody of its OOMs: {problem}") from problem
        return effective(self._folders, limits)

    def follow(self, pid: int) -> None:
        """As `Group.follow` says."""

    def look(self) -> Reading:
        """As `Group.look` says."""
        return read_v1(self._folders)

    def oom_event(self) -> int | None:
        """As `Group.oom_event` says."""
        return self._oom_event

    def members(self) -> tuple[int, ...]:
        """The processes in it now."""
        try:
            return tuple(map(int, (self.folders()[0] / "cgroup.procs").read_text().split()))
        except OSError:
            return ()

    def kill(self) -> int:
        """As `Group.kill` says."""
        return kill_all(self.members, self._freeze)

    def remove(self) -> None:
        """As `Group.remove` says."""
        self.kill()
        for folder in self.folders():
            remove_folder(folder)
        if self._oom_event is not None:
            os.close(self._oom_event)
            self._oom_event = None

    def _freeze(self, frozen: bool) -> None:
        folder = self._folders.get("freezer")
        if folder is not None:
            with contextlib.suppress(OSError):
                write(folder / "freezer.state", "FROZEN" if frozen else "THAWED")

    def _subscribe(self) -> int:
        """Have the kernel signal an eventfd at each OOM (kernel docs, cgroup-v1/memory, 9)."""
        folder = self._folders["memory"]
        event = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        with (folder / "memory.oom_control").open("rb") as control:
            write(folder / "cgroup.event_control", f"{event} {control.fileno()}")
        return event


def _text(folder: Path | None, name: str) -> str | None:
    try:
        return None if folder is None else (folder / name).read_text()
    except OSError:
        return None


def _limit(folder: Path | None, name: str) -> int | None:
    text = _text(folder, name)
    value = None if text is None else count(text)
    return None if value is None or value >= UNLIMITED_BYTES else value
