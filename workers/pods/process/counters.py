"""What a process pod has consumed, put together from who has seen what. Pure."""

from ....models.counters import Counters
from ...meters.cgroup import Reading, network_bytes
from .vigil import Seen


def tally(
    source: str, reading: Reading, seen: Seen, storage_bytes: int, net_dev: str | None
) -> Counters:
    """Counters of now.

    Args:
        source: who enforces the limits, and counts.
        reading: the latest look at the pod's group.
        seen: what its vigil has sampled; includes that look.
        net_dev: the text of net/dev in the pod's own network; None where it has none.
    """
    received, sent = (None, None) if net_dev is None else network_bytes(net_dev)
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
        rx_bytes=received,
        tx_bytes=sent,
        storage_bytes=storage_bytes,
        storage_exceeded=seen.storage_exceeded,
    )
