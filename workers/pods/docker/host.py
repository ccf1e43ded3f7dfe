"""A container seen from the host that runs it: its processes, control group and files."""

import os
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ....models.counters import Counters
from ....models.limits import Effective, Limits
from .cgroup import PROC, HostCgroup, of_process
from .layer import Layer
from .watch import PodWatch

APPEARS_PAUSE_S = 0.002
FLAGS, PF_EXITING = 5, 0x4  # the field of /proc/PID/stat behind the state, and its bit


def view(inspected: Mapping[str, Any], limits: Limits) -> "HostView | None":
    """A started container as this host sees it; None if it does not run on this host."""
    pid = inspected["State"]["Pid"]
    group = of_process(pid, inspected["Id"])
    if group is None:
        return None
    folders = written_folders(inspected)
    layer = Layer(folders, limits.storage_ceiling_bytes) if Layer.readable(folders) else None
    return HostView(pid, group, layer, limits)


def written_folders(inspected: Mapping[str, Any]) -> list[Path]:
    """Where on the host the container's writes go: its layer, and its anonymous volumes."""
    layer = ((inspected.get("GraphDriver") or {}).get("Data") or {}).get("UpperDir")
    volumes = [
        mount["Source"] for mount in inspected.get("Mounts") or [] if mount["Type"] == "volume"
    ]
    return [Path(folder) for folder in (layer, *volumes) if folder] if layer else []


class HostView:
    """The handles that a pod on this host has: PID 1, its idle child, group, layer, watch."""

    def __init__(self, pid: int, group: HostCgroup, layer: Layer | None, limits: Limits) -> None:
        self._init, self._idle = pid, 0
        self._group, self._layer, self._limits = group, layer, limits
        network = PROC / str(pid) / "net/dev"
        self.watch = PodWatch(group, network, limits.oom_scope, layer, self.kill)

    def wait_for(self, program: str, deadline: float) -> bool:
        """Wait until PID 1's first child runs `program`; False if that will not be.

        Args:
            deadline: on the monotonic clock.
        """
        while (child := self._first_child()) is not None and time.monotonic() < deadline:
            if child and _argv0(child) == program:
                self._idle = child
                return True
            time.sleep(APPEARS_PAUSE_S)
        return False

    def _first_child(self) -> int | None:
        """PID 1's oldest child, 0 before it has one; None when PID 1 is gone."""
        try:
            children = (PROC / f"{self._init}/task/{self._init}/children").read_text().split()
        except OSError:
            return None
        return int(children[0]) if children else 0

    @property
    def pid(self) -> int:
        """The container's PID 1, as this host numbers it."""
        return self._init

    def alive(self) -> bool:
        """Whether the container's control group still exists."""
        return self._group.oom_kills() is not None

    def ending(self) -> bool:
        """Whether PID 1 is gone or on its way out, which the engine hears of late."""
        try:
            stat = (PROC / f"{self._init}/stat").read_text()
        except OSError:
            return True
        state, *fields = stat.rpartition(")")[2].split()
        return state in "ZX" or bool(int(fields[FLAGS]) & PF_EXITING)

    def kill(self) -> int | None:
        """Kill everything but PID 1 and its idle child; None where that cannot be done."""
        return self._group.kill(keep=(self._init, self._idle))

    def _may_kill(self) -> bool:
        try:
            os.kill(self._init, 0)
        except PermissionError:
            return False
        except ProcessLookupError:
            pass
        return True

    def effective(self, accepted: Effective) -> Effective:
        """Limits as the kernel holds them, in place of what the engine says it has set."""
        got = self._group.in_force()
        limited = self._layer is not None
        return accepted.model_copy(
            update={
                "memory_floor_bytes": got.memory_floor_bytes,
                "memory_ceiling_bytes": got.memory_ceiling_bytes,
                "memory_and_swap_bytes": got.memory_and_swap_bytes,
                "cpu_shares": got.cpu_shares or accepted.cpu_shares,
                "cpu_ceiling": got.cpu_ceiling,
                "cpuset": got.cpuset,
                "pids": got.pids,
                "storage_ceiling_bytes": self._limits.storage_ceiling_bytes if limited else None,
                "oom_scope": self._limits.oom_scope if self._may_kill() else "process",
            }
        )

    def counters(self, oom_killed: bool = False) -> Counters:
        """Read everything now.

        Args:
            oom_killed: the container has ended, and the engine says that memory was why: one
                kill at least, also where the group was gone before it could be read.
        """
        read = self.watch.sample()
        kills = read.oom_kills
        return Counters(
            source=f"cgroup-v{self._group.version}",
            oom_kills=max(kills or 0, 1) if oom_killed else kills,
            memory_peak_bytes=read.memory_peak_bytes,
            anon_peak_bytes=read.anon_bytes,
            cpu_s=read.cpu_s,
            throttled_s=read.throttled_s,
            throttled_periods=read.throttled_periods,
            pids_peak=read.pids_peak or read.pids,
            **(asdict(self.watch.passed) if self.watch.passed else {}),
            storage_bytes=self._layer.used_bytes() if self._layer else None,
            storage_exceeded=self._layer.exceeded if self._layer else None,
        )

    def close(self) -> None:
        """Give descriptors back."""
        self.watch.close()


def _argv0(pid: int) -> str:
    try:
        return os.fsdecode((PROC / f"{pid}/cmdline").read_bytes().partition(b"\0")[0])
    except OSError:
        return ""
