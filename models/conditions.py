"""Conditions, usage and clocks: what surrounded an attempt, what it took, how long each part."""

from .counters import Counters
from .limits import Effective, Limits
from .load import Load
from .value import Value


class Conditions(Value):
    """What surrounded an attempt on its node.

    `co_running` counts other attempts on the same worker at start, at its peak and at the end.
    `hour_utc` is the hour of the start, 0..23, `weekday` 0 (Monday)..6.
    """

    node: str
    node_profile: str
    runtime: str
    network: str
    requested: Limits
    effective: Effective | None = None
    slots: int
    co_running_start: int = 0
    co_running_peak: int = 0
    co_running_end: int = 0
    load_start: Load | None = None
    load_end: Load | None = None
    hour_utc: int
    weekday: int


class Usage(Value):
    """What the pod consumed: cumulative counters at the end, and our own share of the cost."""

    counters: Counters | None = None
    agent_cpu_s: float | None = None
    verifier_cpu_s: float | None = None
    overhead_cpu_s: float | None = None


class Clocks(Value):
    """Separate clocks. Times are Unix seconds, durations seconds; a time limit binds `agent_s`."""

    queued_at: float | None = None
    placed_at: float | None = None
    received_at: float
    prepare_s: float = 0.0
    start_s: float = 0.0
    setup_s: float = 0.0
    agent_s: float = 0.0
    verifier_s: float = 0.0
    stop_s: float = 0.0
    ended_at: float
