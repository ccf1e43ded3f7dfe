"""What a process pod has consumed, put together from who has seen what. Pure."""

from dataclasses import asdict

from ....models.counters import Counters
from ...meters.cgroup import Reading
from ...meters.traffic import Traffic
from .vigil import Seen


def tally(
    source: str, reading: Reading, seen: Seen, storage_bytes: int, passed: Traffic | None
) -> Counters:
    """Counters of now.

    Args:
        source: who enforces the limits, and counts.
        reading: the latest look at the pod's group.
        seen: what its vigil has sampled; includes that look.
        passed: through the pod's own network; None where it has none.
    """
    return Counters(
        source=source,
        oom_kills=reading.oom_kills,
        memory_peak_bytes=reading.memory_peak_bytes,
        anon_peak_bytes=seen.anon_peak_bytes,
        cpu_s=reading.cpu_s,
        throttled_s=reading.throttled_s,
        throttled_periods=reading.throttled_periods,
        # Before Linux 6.1 the kernel keeps no peak: then the samples have to do.
        pids_peak=reading.pids_peak if reading.pids_peak is not None else seen.pids_peak,
        **({} if passed is None else asdict(passed)),
        storage_bytes=storage_bytes,
        storage_exceeded=seen.storage_exceeded,
    )
