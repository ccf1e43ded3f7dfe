"""The processes of one pod under their limits, whatever holds them; and settings as values."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ....models.limits import Effective, Limits
from ...meters.cgroup import Reading

CPU_PERIOD_US = 100_000
MIN_QUOTA_US = 1_000  # the kernel's own minimum
SHARES_PER_CORE = 1_024
PAGE_BYTES = 4_096
SAMPLE_EVERY_S = 0.4  # of a group that a kernel holds


@dataclass(frozen=True, slots=True)
class Setting:
    """One value for one kernel file. One that is not `essential` may fail, and is then told."""

    controller: str
    file: str
    value: str
    essential: bool = False


class Group(Protocol):
    """One pod's processes. `enforcement` names what holds them to their limits.

    `look_every_s` is the longest that `look` may wait for its next call.
    """

    enforcement: str
    look_every_s: float

    def folders(self) -> tuple[Path, ...]:
        """Its cgroups; none where there are no cgroups."""
        ...

    def make(self) -> None:
        """Bring it into being, empty."""
        ...

    def joins(self) -> tuple[Path, ...]:
        """Files into which a process writes 0 to become a member, it and its children."""
        ...

    def apply(self, limits: Limits) -> Effective:
        """Set limits, and say what is in force.

        Raises:
            StartFailed: the memory ceiling cannot be set.
        """
        ...

    def follow(self, pid: int) -> None:
        """Learn the pod's PID 1, which is no member."""
        ...

    def look(self) -> Reading:
        """What its members have consumed. A group without a kernel behind it enforces here."""
        ...

    def oom_event(self) -> int | None:
        """An eventfd that turns readable at an OOM, where the kernel has one and it is needed."""
        ...

    def members(self) -> tuple[int, ...]:
        """The processes in it now."""
        ...

    def kill(self) -> int:
        """Kill all members, also those that fork meanwhile; how many there were."""
        ...

    def remove(self) -> None:
        """Kill all members and leave nothing behind. Safe to call twice."""
        ...


def write(file: Path, text: str) -> None:
    """Write a kernel file; OSError where there is none, or the kernel refuses the text."""
    handle = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def cpu_quota_us(cores: float) -> int:
    """A CPU ceiling as time per period of 100 ms."""
    return max(MIN_QUOTA_US, round(cores * CPU_PERIOD_US))


def cpu_shares(cores: float) -> int:
    """A CPU floor as v1 shares, 1024 a core, as Docker and Kubernetes count (2 at least)."""
    return max(2, round(cores * SHARES_PER_CORE))


def weight_of(shares: int) -> int:
    """v1 shares (2..262144) as a v2 weight (1..10000).

    Source: Kubernetes KEP-2254, the formula that container runtimes use.

    >>> weight_of(2), weight_of(1024), weight_of(262_144)
    (1, 39, 10000)
    """
    return 1 + (min(shares, 262_144) - 2) * 9_999 // 262_142


def shares_of(weight: int) -> int:
    """The inverse of `weight_of`, up to its rounding.

    >>> shares_of(1), shares_of(10000)
    (2, 262144)
    """
    return 2 + (weight - 1) * 262_142 // 9_999


def differences(limits: Limits, effective: Effective) -> tuple[str, ...]:
    """In words, each requested limit that is not in force; rounding to pages is none."""
    swap_bytes = None
    if limits.memory_ceiling_bytes is not None:
        swap_bytes = limits.memory_ceiling_bytes + limits.swap_bytes
    shares = None if limits.cpu_floor is None else cpu_shares(limits.cpu_floor)
    # Shares come back through weights on v2, 26 shares to a step.
    rows: tuple[tuple[str, float | str | None, float | str | None, float], ...] = (
        ("memory floor", limits.memory_floor_bytes, effective.memory_floor_bytes, PAGE_BYTES),
        ("memory ceiling", limits.memory_ceiling_bytes, effective.memory_ceiling_bytes, PAGE_BYTES),
        ("memory and swap", swap_bytes, effective.memory_and_swap_bytes, PAGE_BYTES),
        ("cpu shares", shares, effective.cpu_shares, 27),
        ("cpu ceiling", limits.cpu_ceiling, effective.cpu_ceiling, 0.0101),
        (
            "storage ceiling",
            limits.storage_ceiling_bytes,
            effective.storage_ceiling_bytes,
            PAGE_BYTES,
        ),
        ("pids", limits.pids, effective.pids, 0.5),
        ("oom_scope", limits.oom_scope, effective.oom_scope, 0),
    )
    return tuple(
        f"{name}: asked {asked}, in force {'none' if got is None else got}"
        for name, asked, got, slack in rows
        if asked is not None and not _same(asked, got, slack)
    )


def _same(asked: float | str, got: float | str | None, slack: float) -> bool:
    if isinstance(asked, str) or isinstance(got, str) or got is None:
        return asked == got
    return abs(asked - got) < slack
