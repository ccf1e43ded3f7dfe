"""A pod's own counters as `Counters`. Pure."""

from collections.abc import Mapping
from dataclasses import asdict

from ....models.counters import Counters
from ....models.kube_evidence import KubeEvidence
from ....models.kube_rows import STORAGE_CEILING
from ...meters.cgroup import NS_PER_S, US_PER_S, count, flat_keyed
from ...meters.traffic import traffic

MOST = 1 << 53  # of any count that a kernel came to; a pod's own shell may print anything


def from_files(inside: Mapping[str, str], before: Counters | None) -> Counters:
    """What the control group's files say, as the pod sees them.

    Anonymous memory has no peak in them, and disk use is not in them: both are not known.

    Args:
        inside: as `kubernetes_words.files` gives it.
        before: the last reading; a count that cannot be read now stays.
    """
    read = _v2(inside) if "memory.events" in inside else _v1(inside)
    net_dev = inside.get("proc/net/dev")
    now = read | (asdict(traffic(net_dev)) if net_dev else {})
    kept = {
        name: value
        for name, value in now.items()
        if value is not None and not (isinstance(value, int | float) and value > MOST)
    }
    return (before or Counters(source="kubernetes")).model_copy(update=kept)


def after_the_end(seen: KubeEvidence, last: Counters | None) -> Counters | None:
    """The last reading, and what the pod's end tells beyond it; None where there is neither.

    OOM kills are those that the wrapper counted; without its report, one at least where OOMKilled
    was told.
    """
    told: dict[str, object] = {}
    if seen.report is not None and seen.report.oom_kills is not None:
        told["oom_kills"] = seen.report.oom_kills
    elif seen.oom_reason:
        told["oom_kills"] = max(1, (last.oom_kills or 0) if last else 0)
    elif seen.ended:
        # Nobody counted to the end: the last count is a lower bound, which is no count.
        told["oom_kills"] = (last.oom_kills or None) if last else None
    if seen.reason == "Evicted" and STORAGE_CEILING.search(seen.message):
        told["storage_exceeded"] = True
    if last is None and not told:
        return None
    return (last or Counters(source="kubernetes")).model_copy(update=told)


def _v1(inside: Mapping[str, str]) -> dict[str, str | float | int | None]:
    throttling = flat_keyed(inside.get("cpu/cpu.stat", ""))
    used_ns = count(inside.get("cpuacct/cpuacct.usage", ""))
    throttled_ns = throttling.get("throttled_time")
    return {
        "source": "kubernetes:cgroup-v1",
        "oom_kills": flat_keyed(inside.get("memory/memory.oom_control", "")).get("oom_kill"),
        "memory_peak_bytes": count(inside.get("memory/memory.max_usage_in_bytes", "")),
        "cpu_s": None if used_ns is None else used_ns / NS_PER_S,
        "throttled_s": None if throttled_ns is None else throttled_ns / NS_PER_S,
        "throttled_periods": throttling.get("nr_throttled"),
    }


def _v2(inside: Mapping[str, str]) -> dict[str, str | float | int | None]:
    cpu = flat_keyed(inside.get("cpu.stat", ""))
    used_us, throttled_us = cpu.get("usage_usec"), cpu.get("throttled_usec")
    return {
        "source": "kubernetes:cgroup-v2",
        "oom_kills": flat_keyed(inside["memory.events"]).get("oom_kill"),
        "memory_peak_bytes": count(inside.get("memory.peak", "")),
        "pids_peak": count(inside.get("pids.peak", "")),
        "cpu_s": None if used_us is None else used_us / US_PER_S,
        "throttled_s": None if throttled_us is None else throttled_us / US_PER_S,
        "throttled_periods": cpu.get("nr_throttled"),
    }
