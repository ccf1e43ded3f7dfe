"""Limits without a kernel behind them: we look and we kill. The last resort, and labelled so.

A spike between two looks is missed, CPU and process counts are not limited, and what a process
shares with others is counted for each.
"""

import contextlib
import os
import signal
from pathlib import Path

from ....models.limits import Effective, Limits
from ...meters.cgroup import Reading
from ..killing import kill_all
from .group import differences

MARK = "INFRANOISE_POD"  # in the environment of every process of a pod
KIB = 1024


class Watchdog:
    """The processes that carry a pod's mark, or are in its PID namespace."""

    enforcement = "watchdog"
    look_every_s = 0.1

    def __init__(self, pod: str, proc: Path = Path("/proc")) -> None:
        self._mark = f"{MARK}={pod}".encode()
        self._proc = proc
        self._limits = Limits()
        self._oom_kills = 0
        self._peak_bytes = 0
        self._first: int | None = None
        self._namespace = ""

    def folders(self) -> tuple[Path, ...]:
        """None."""
        return ()

    def make(self) -> None:
        """Nothing to make."""

    def joins(self) -> tuple[Path, ...]:
        """As `Group.joins` says."""
        return ()

    def apply(self, limits: Limits) -> Effective:
        """As `Group.apply` says."""
        self._limits = limits
        found = Effective(
            memory_ceiling_bytes=limits.memory_ceiling_bytes,
            storage_ceiling_bytes=limits.storage_ceiling_bytes,
            oom_scope=limits.oom_scope,
            enforcement=self.enforcement,
        )
        return found.model_copy(update={"differs": differences(limits, found)})

    def follow(self, pid: int) -> None:
        """Whoever is in PID 1's own namespace is a member, with or without the mark."""
        self._first, self._namespace = pid, self._namespace_of(pid)

    def look(self) -> Reading:
        """Measure, and kill the largest process (or all) when the ceiling is passed."""
        sizes = {pid: anon_bytes(self._proc / str(pid)) for pid in self.members()}
        total = sum(sizes.values())
        self._peak_bytes = max(self._peak_bytes, total)
        ceiling = self._limits.memory_ceiling_bytes
        if ceiling is not None and total > ceiling:
            self._oom_kills += 1
            self._kill_for_memory(max(sizes, key=lambda pid: sizes[pid]))
        return Reading(
            oom_kills=self._oom_kills,
            memory_peak_bytes=self._peak_bytes,
            anon_bytes=self._peak_bytes,  # the command may end by our kill before this is seen
            pids=len(sizes),
        )

    def oom_event(self) -> int | None:
        """As `Group.oom_event` says."""
        return None

    def members(self) -> tuple[int, ...]:
        """Processes that have the mark, or are in the pod's namespace; not another user's."""
        pids = (int(entry.name) for entry in self._proc.iterdir() if entry.name.isdigit())
        return tuple(pid for pid in pids if pid != self._first and self._is_member(pid))

    def kill(self) -> int:
        """As `Group.kill` says."""
        return kill_all(self.members, lambda frozen: None)

    def remove(self) -> None:
        """As `Group.remove` says."""
        self.kill()

    def _is_member(self, pid: int) -> bool:
        if self._namespace and self._namespace_of(pid) == self._namespace:
            return True
        return self._is_marked(pid)

    def _namespace_of(self, pid: int) -> str:
        try:
            return (self._proc / str(pid) / "ns" / "pid").readlink().name
        except OSError:
            return ""

    def _is_marked(self, pid: int) -> bool:
        try:
            return self._mark in (self._proc / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def _kill_for_memory(self, victim: int) -> None:
        if self._limits.oom_scope == "pod":
            self.kill()
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)


def anon_bytes(process: Path) -> int:
    """Anonymous and shared memory of a process, from its /proc folder; 0 when it is gone."""
    try:
        status = (process / "status").read_text()
    except OSError:
        return 0
    rows = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    return sum(int(rows.get(key, "0 kB").split()[0]) for key in ("RssAnon", "RssShmem")) * KIB
