"""What surrounded an attempt that casts doubt on its measurement: pure, judged from its record.

A warning is no outcome: the attempt counts as it ended. It says that something besides the assigned
factors took part, and by which reading that is known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .conditions import Conditions, Usage
from .node import NodeProfile

THROTTLED_S = 0.1
OUTSIDE_SHARE, OUTSIDE_S = 0.10, 1.0
STEAL_SHARE = 0.01
PRESSURE_PERCENT = 10.0
STEP_S, OFFSET_S, SUSPENDED_S = 0.1, 1.0, 0.1
STEADY_GOVERNORS = (None, "performance")


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is to judge by. `wall_s` is the attempt's time, start to end, monotonic."""

    conditions: Conditions
    usage: Usage
    wall_s: float
    profile: NodeProfile | None = None

    def gone_by(self, name: str) -> float | None:
        """By how much a count of the node's load grew from start to end; None: not told."""
        ends = (self.conditions.load_start, self.conditions.load_end)
        then, now = (None if load is None else getattr(load, name) for load in ends)
        return None if then is None or now is None else now - then

    def peak(self, name: str) -> float:
        """The worst reading between start and end; 0 where none is told."""
        loads = (self.conditions.load_start, self.conditions.load_peak, self.conditions.load_end)
        told = [getattr(load, name) for load in loads if load is not None]
        return max((value for value in told if value is not None), default=0.0)

    @property
    def threads(self) -> int:
        """Hardware threads; 1 where they are not known."""
        return (self.profile.cpu_threads if self.profile else None) or 1

    @property
    def cores(self) -> int:
        """Cores; threads where they are not known."""
        return (self.profile.cpu_cores if self.profile else None) or self.threads

    @property
    def together(self) -> int:
        """Attempts that ran at one time, this one among them."""
        return (self.conditions.co_running_peak or 0) + 1

    @property
    def of_all_cpus(self) -> float:
        """CPU-seconds that the node had meanwhile."""
        return self.wall_s * self.threads


type Doubt = Callable[[Seen], bool]


def _swapped(seen: Seen) -> bool:
    return (seen.gone_by("swapped_pages") or 0) > 0


def _oom_elsewhere(seen: Seen) -> bool:
    own = (seen.usage.counters.oom_kills if seen.usage.counters else None) or 0
    return (seen.gone_by("system_oom_kills") or 0) > own


def _hot(seen: Seen) -> bool:
    return (seen.gone_by("thermal_throttles") or 0) > 0


def _throttled(seen: Seen) -> bool:
    counters = seen.usage.counters
    return counters is not None and (counters.throttled_s or 0.0) >= THROTTLED_S


def _scaled(seen: Seen) -> bool:
    return seen.profile is not None and seen.profile.cpu_governor not in STEADY_GOVERNORS


def _turbo(seen: Seen) -> bool:
    return seen.profile is not None and bool(seen.profile.turbo)


def _outside(seen: Seen) -> bool:
    """Only to be told where the attempt ran alone: what neighbours used is theirs."""
    busy_s, counters = seen.gone_by("busy_s"), seen.usage.counters
    if busy_s is None or seen.together > 1 or counters is None or counters.cpu_s is None:
        return False
    outside_s = busy_s - counters.cpu_s - (seen.usage.overhead_cpu_s or 0.0)
    return outside_s > max(OUTSIDE_S, OUTSIDE_SHARE * seen.of_all_cpus)


def _stolen(seen: Seen) -> bool:
    return (seen.gone_by("steal_s") or 0.0) > STEAL_SHARE * max(seen.of_all_cpus, 1.0)


def _overcommitted(seen: Seen) -> bool:
    has_bytes = seen.profile.memory_bytes if seen.profile else None
    return has_bytes is not None and (seen.conditions.ceilings_peak_bytes or 0) > has_bytes


def _shared_cores(seen: Seen) -> bool:
    return seen.threads > seen.cores and seen.together > seen.cores


def _more_than_threads(seen: Seen) -> bool:
    return seen.profile is not None and seen.together > seen.threads


def _stepped(seen: Seen) -> bool:
    return abs(seen.conditions.clock_step_s or 0.0) > STEP_S


def _slept(seen: Seen) -> bool:
    return (seen.conditions.suspended_s or 0.0) > SUSPENDED_S


def _off(seen: Seen) -> bool:
    offset_s, error_s = seen.conditions.clock_offset_s, seen.conditions.clock_error_s
    return offset_s is not None and abs(offset_s) - (error_s or 0.0) > OFFSET_S


def _slower_link(seen: Seen) -> bool:
    effective = seen.conditions.effective
    return effective is not None and any(said.startswith("egress") for said in effective.differs)


def _pressed(name: str) -> Doubt:
    return lambda seen: seen.peak(name) > PRESSURE_PERCENT


WARNINGS: Mapping[str, tuple[str, Doubt]] = {
    "swap_used": ("the node swapped while the attempt ran", _swapped),
    "system_oom": ("the kernel killed for want of memory outside the pod", _oom_elsewhere),
    "cpu_hot": ("cores were slowed down because of their temperature", _hot),
    "cpu_quota": ("the pod waited for its CPU ceiling for 0.1 s or more", _throttled),
    "frequency_scaling": ("the kernel may change the CPU's frequency", _scaled),
    "turbo": ("the CPU may go beyond its nominal frequency", _turbo),
    "outside_load": ("others than this pod used over a tenth of the node's CPU", _outside),
    "cpu_steal": ("the hypervisor gave over a hundredth of the CPU to others", _stolen),
    "memory_overcommit": ("ceilings of what ran together exceed the memory", _overcommitted),
    "shared_cores": ("more attempts than cores: hyperthreads were shared", _shared_cores),
    "cpu_overcommit": ("more attempts than hardware threads", _more_than_threads),
    "memory_pressure": (
        "some task waited for memory for over a tenth of 10 s",
        _pressed("psi_mem_some10"),
    ),
    "io_pressure": (
        "all tasks waited for disks for over a tenth of 10 s",
        _pressed("psi_io_full10"),
    ),
    "clock_step": ("the node's clock was set while the attempt ran", _stepped),
    "clock_offset": ("the node's clock is over 1 s from the scheduler's", _off),
    "suspended": ("the machine slept while the attempt ran", _slept),
    "egress_slow": ("the link was slower than three quarters of its cap", _slower_link),
}
"""Word -> what it means, and when it holds."""


def warnings_of(seen: Seen) -> tuple[str, ...]:
    """The warnings that hold, in the order of `WARNINGS`. What is not told raises none."""
    return tuple(word for word, (_, holds) in WARNINGS.items() if holds(seen))
