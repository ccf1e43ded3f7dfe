"""What is looked at while a command runs in a container on this machine."""

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Protocol

from ....models.limits import OomScope
from ...meters.cgroup import Reading
from ...meters.traffic import Traffic, traffic
from .cgroup import HostCgroup
from .layer import Layer

SHORTEST_PERIOD_S, LONGEST_PERIOD_S, STORAGE_PERIOD_S = 0.05, 1.0, 0.2
PERIOD_SHARE = 0.1  # of the command's age
EVENTS_BYTES = 4096
KILL_FOLLOWS_S = 0.1  # the kernel tells of the want of memory just before it kills


class Watch(Protocol):
    """What has to be looked at while a command runs."""

    def begin(self) -> None:
        """A command begins."""
        ...

    def fds(self) -> Sequence[tuple[int, int]]:
        """Descriptors to wait on beside the output, each with its poll mask."""
        ...

    def look(self) -> None:
        """Called when one of `fds` is ready, and about once in `period_s`."""
        ...

    def settle(self) -> bool:
        """A command has ended: look once more. True if the pod has ended with it."""
        ...

    @property
    def period_s(self) -> float: ...


class Blind:
    """Nothing can be looked at: the engine is elsewhere."""

    period_s = LONGEST_PERIOD_S

    def fds(self) -> Sequence[tuple[int, int]]:
        """None."""
        return ()

    def begin(self) -> None:
        """Nothing."""

    def look(self) -> None:
        """Nothing."""

    def settle(self) -> bool:
        """Nothing has happened that is known of."""
        return False


class PodWatch:
    """Peaks by sampling, and the two ceilings that have to be enforced from outside.

    A pod whose `oom_scope` is `pod` loses every process at the first OOM kill; the kernel tells
    of it through a descriptor, so there is no polling. PID 1 is left, so that the counters are
    still there to be read. A pod that writes more than its storage ceiling loses them likewise.

    Args:
        network: the `net/dev` of a process in the pod's network.
        kill: ends every process of the pod but its PID 1.
    """

    def __init__(
        self,
        group: HostCgroup,
        network: Path,
        scope: OomScope,
        layer: Layer | None,
        kill: Callable[[], object],
    ) -> None:
        self._group, self._network, self._layer, self._kill = group, network, layer, kill
        self._began = time.monotonic()
        self._sampled = 0.0
        self._scope = scope
        self._alarm: tuple[int, int] | None = _alarm(group) if scope == "pod" else None
        self.last = Reading()
        self._passed: Traffic | None = None
        self._left_out = Traffic()
        self.ended_by_oom = False

    @property
    def period_s(self) -> float:
        """How often to look: as often as to sample, or as a filling disk asks."""
        sampling_s = self._sampling_s()
        return min(sampling_s, STORAGE_PERIOD_S) if self._layer is not None else sampling_s

    def _sampling_s(self) -> float:
        """Short while a command is young, so that short ones are sampled too."""
        age_s = time.monotonic() - self._began
        return min(max(PERIOD_SHARE * age_s, SHORTEST_PERIOD_S), LONGEST_PERIOD_S)

    def fds(self) -> Sequence[tuple[int, int]]:
        """The descriptor on which the kernel tells of OOM kills, if they end the pod."""
        return () if self._alarm is None else (self._alarm,)

    def begin(self) -> None:
        """A command begins."""
        self._began = time.monotonic()

    def look(self) -> None:
        """Sample, and enforce."""
        if self._scope == "pod" and not self.ended_by_oom and self._killed():
            self.ended_by_oom = True
            self._kill()
        if self._layer is not None and self._layer.outgrown():
            self._kill()
        if time.monotonic() - self._sampled >= self._sampling_s():
            self.sample()

    def settle(self) -> bool:
        """Look once more when a command has ended; True if an OOM kill has ended the pod."""
        self.look()
        self.sample()
        return self.ended_by_oom

    def sample(self) -> Reading:
        """Read the control group now; `anon_bytes` and `pids` are the highest ever sampled."""
        with suppress(OSError):
            self._passed = traffic(self._network.read_text())
        self._sampled = time.monotonic()
        now = asdict(self._group.read())
        now["anon_bytes"] = _highest(self.last.anon_bytes, now["anon_bytes"])
        now["pids"] = _highest(self.last.pids, now["pids"])
        # A container that goes takes its files away one by one: what was read of it stays.
        self.last = replace(self.last, **{k: v for k, v in now.items() if v is not None})
        return self.last

    @property
    def passed(self) -> Traffic | None:
        """What passed through the pod's network, as last sampled; None: it was never read."""
        return None if self._passed is None else self._passed.since(self._left_out)

    def leave_out_traffic(self) -> None:
        """Count what passes from now on: what passed before was our own measuring."""
        self.sample()
        self._left_out = self._passed or Traffic()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._alarm is not None:
            os.close(self._alarm[0])
            self._alarm = None

    def _killed(self) -> bool:
        waits = self._silenced()
        until = time.monotonic() + KILL_FOLLOWS_S
        while not self._group.oom_kills():
            if not waits or time.monotonic() > until:
                return False
            time.sleep(0.001)
        return True

    def _silenced(self) -> bool:
        """Quieten the descriptor; True if it announced a kill that may not be counted yet."""
        if self._alarm is None:
            return False
        if self._group.version == 2:
            os.pread(self._alarm[0], EVENTS_BYTES, 0)
            return False
        with suppress(BlockingIOError):
            return os.eventfd_read(self._alarm[0]) > 0
        return False


def _alarm(group: HostCgroup) -> tuple[int, int] | None:
    """A descriptor that becomes ready at an OOM kill, with its poll mask; None if not permitted.

    Source: kernel documentation, cgroup-v1/memory.rst section 10 (eventfd on memory.oom_control)
    and cgroup-v2.rst, memory.events (a change raises a file modified event).
    """
    memory = group.folder("memory")
    with suppress(OSError):
        if group.version == 2:
            events = os.open(memory / "memory.events", os.O_RDONLY)
            os.pread(events, EVENTS_BYTES, 0)  # ready from the first change after a read
            return events, select.POLLPRI
        control = os.open(memory / "memory.oom_control", os.O_RDONLY)
        alarm = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            (memory / "cgroup.event_control").write_text(f"{alarm} {control}")
        except OSError:
            os.close(alarm)
            raise
        finally:
            os.close(control)
        return alarm, select.POLLIN
    return None


def _highest(*values: int | None) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None
