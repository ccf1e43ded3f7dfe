"""Counters from what an engine tells over its API. Pure.

For an engine on another machine, whose control groups cannot be read; less than the files tell.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ....models.counters import Counters

SOURCE = "docker-api"
NS_PER_S = 1_000_000_000
PASSED = ("rx_bytes", "tx_bytes", "rx_packets", "tx_packets")
SUMS = {"oom_kills", "cpu_s", "throttled_s", "throttled_periods", *PASSED}
PEAKS = {"memory_peak_bytes", "anon_peak_bytes", "pids_peak"}


def from_stats(
    stats: Mapping[str, Any], *, oom_kills: int | None, storage_bytes: int | None = None
) -> Counters:
    """The engine's `stats` answer as counters.

    Args:
        oom_kills: as `counted_kills` says.
        storage_bytes: the container's writable layer, if it was asked for.
    """
    memory, cpu = stats.get("memory_stats") or {}, stats.get("cpu_stats") or {}
    throttling = cpu.get("throttling_data") or {}
    detail = memory.get("stats") or {}
    networks = list((stats.get("networks") or {}).values())
    return Counters(
        source=SOURCE,
        oom_kills=oom_kills,
        memory_peak_bytes=memory.get("max_usage"),
        anon_peak_bytes=detail.get("anon", detail.get("total_rss", detail.get("rss"))),
        cpu_s=_seconds((cpu.get("cpu_usage") or {}).get("total_usage")),
        throttled_s=_seconds(throttling.get("throttled_time")),
        throttled_periods=throttling.get("throttled_periods"),
        pids_peak=(stats.get("pids_stats") or {}).get("current"),
        **{name: sum(network[name] for network in networks) for name in PASSED},
        storage_bytes=storage_bytes,
    )


def counted_kills(happened: Sequence[str], oom_killed: bool) -> int | None:
    """OOM kills by the engine's events of one container and its inspected `OOMKilled`.

    An `oom` event is a notice of want; the kernel may give several for one kill, but none without
    one. With the container's start still among the events, every notice is; without it, only a
    kill that was seen is sure, and none seen means not known.
    """
    seen = max(happened.count("oom"), int(oom_killed))
    return seen if seen or "start" in happened else None


def summed(before: Counters, now: Counters) -> Counters:
    """Counters over two lives of one container, which counts anew when it is started again.

    Its writable layer is the same in both, so storage is as it reads now.
    """
    values = now.model_dump()
    for name in SUMS | PEAKS:
        known = [v for v in (getattr(before, name), getattr(now, name)) if v is not None]
        values[name] = (sum(known) if name in SUMS else max(known)) if known else None
    return Counters(**values)


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / NS_PER_S
