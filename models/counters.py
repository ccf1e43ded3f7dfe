"""What a pod has consumed up to a moment, read from outside it."""

from .value import Value


class Counters(Value):
    """Cumulative readings since the pod started. None: this source cannot tell.

    `memory_peak_bytes` includes page cache and saturates at the ceiling; `anon_peak_bytes` is
    anonymous memory alone, sampled, so it may miss a short spike. Kills are told by `oom_kills`
    only: exit codes and fail counts are not evidence of one. Received and sent (`rx_`, `tx_`) are
    what passed the pod's own interfaces, without `lo` and without our own measuring.
    """

    source: str
    oom_kills: int | None = None
    memory_peak_bytes: int | None = None
    anon_peak_bytes: int | None = None
    cpu_s: float | None = None
    throttled_s: float | None = None
    throttled_periods: int | None = None
    pids_peak: int | None = None
    rx_bytes: int | None = None
    tx_bytes: int | None = None
    rx_packets: int | None = None
    tx_packets: int | None = None
    storage_bytes: int | None = None
    storage_exceeded: bool | None = None
