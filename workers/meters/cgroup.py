"""What a cgroup has counted: parsers of its files, versions 1 and 2, and one reading of them.

The parsers take the text of a kernel file and are pure; `read_v1` and `read_v2` read folders.
A file that a kernel does not have, or a key that a file does not have, is None: not known.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

NS_PER_S = 1_000_000_000
US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One look at a cgroup. Counts are since it was made; `anon_bytes`, `pids` are of now."""

    oom_kills: int | None = None
    memory_peak_bytes: int | None = None
    anon_bytes: int | None = None
    cpu_s: float | None = None
    throttled_s: float | None = None
    throttled_periods: int | None = None
    pids: int | None = None
    pids_peak: int | None = None


def flat_keyed(text: str) -> dict[str, int]:
    """`key value` lines as a dict; lines of another shape are left out.

    >>> flat_keyed("nr_periods 4\\nnr_throttled 2\\n")
    {'nr_periods': 4, 'nr_throttled': 2}
    """
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and _is_count(pair[1])}


def value_of(text: str, key: str) -> int | None:
    """One key of `key value` lines, without parsing the others; None if it is not there.

    >>> value_of("cache 1\\nrss 42\\nrss_huge 0\\n", "rss")
    42
    """
    _, _, rest = f"\n{text}".partition(f"\n{key} ")
    return count(rest.partition("\n")[0])


def count(text: str) -> int | None:
    """A single number; None for `max` and for what is no number.

    >>> count("4096\\n"), count("max\\n")
    (4096, None)
    """
    return int(text) if _is_count(text.strip()) else None


def quota_v2(text: str) -> float | None:
    """`cpu.max` as cores; None when unlimited.

    >>> quota_v2("150000 100000\\n"), quota_v2("max 100000\\n")
    (1.5, None)
    """
    quota, period = text.split()
    return None if quota == "max" else int(quota) / int(period)


def quota_v1(quota: str, period: str) -> float | None:
    """`cpu.cfs_quota_us` and `cpu.cfs_period_us` as cores; None when unlimited (-1).

    >>> quota_v1("50000\\n", "100000\\n"), quota_v1("-1\\n", "100000\\n")
    (0.5, None)
    """
    return None if int(quota) < 0 else int(quota) / int(period)


def read_v1(controllers: Mapping[str, Path]) -> Reading:
    """Read a v1 cgroup: one folder per controller; a missing controller leaves its fields None.

    `oom_kill` counts the victims of this very cgroup, not of cgroups below it.
    """
    memory, cpu = controllers.get("memory"), controllers.get("cpu")
    oom = _keyed(memory, "memory.oom_control")
    throttling = _keyed(cpu, "cpu.stat")
    return Reading(
        oom_kills=oom.get("oom_kill"),
        memory_peak_bytes=_number(memory, "memory.max_usage_in_bytes"),
        anon_bytes=_one(memory, "memory.stat", "rss"),
        cpu_s=_scaled(_number(controllers.get("cpuacct"), "cpuacct.usage"), NS_PER_S),
        throttled_s=_scaled(throttling.get("throttled_time"), NS_PER_S),
        throttled_periods=throttling.get("nr_throttled"),
        pids=_number(controllers.get("pids"), "pids.current"),
        pids_peak=_number(controllers.get("pids"), "pids.peak"),
    )


def read_v2(folder: Path) -> Reading:
    """Read a v2 cgroup. `memory.events` counts the kills in cgroups below it, too."""
    cpu = _keyed(folder, "cpu.stat")
    return Reading(
        oom_kills=_keyed(folder, "memory.events").get("oom_kill"),
        memory_peak_bytes=_number(folder, "memory.peak"),
        anon_bytes=_one(folder, "memory.stat", "anon"),
        cpu_s=_scaled(cpu.get("usage_usec"), US_PER_S),
        throttled_s=_scaled(cpu.get("throttled_usec"), US_PER_S),
        throttled_periods=cpu.get("nr_throttled"),
        pids=_number(folder, "pids.current"),
        pids_peak=_number(folder, "pids.peak"),
    )


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _scaled(value: int | None, per_second: int) -> float | None:
    return None if value is None else value / per_second


def _keyed(folder: Path | None, name: str) -> dict[str, int]:
    return _parsed(folder, name, flat_keyed) or {}


def _one(folder: Path | None, name: str, key: str) -> int | None:
    return _parsed(folder, name, lambda text: value_of(text, key))


def _number(folder: Path | None, name: str) -> int | None:
    return _parsed(folder, name, count)


def _parsed[T](folder: Path | None, name: str, parse: Callable[[str], T]) -> T | None:
    if folder is None:
        return None
    try:
        with open(f"{folder}/{name}", "rb", buffering=0) as file:  # noqa: PTH123  (read very often)
            return parse(file.read().decode())
    except OSError:
        return None
