"""Conditions, usage and clocks: what surrounded an attempt, what it took, how long each part."""

from .counters import Counters
from .kube_pod import KubePod
from .limits import Effective, Limits
from .load import Load
from .value import Value

UNRECORDED = "unrecorded"
"""The label of what a source of imported results does not say."""


class Conditions(Value):
    """What surrounded an attempt on its node. None and `UNRECORDED`: its source does not tell.

    `co_running` counts other attempts on the same worker at start, at its peak, at the end and in
    the mean over its time; `concurrency` is how many were asked for in all, None: the node's own;
    `slots` how many it may hold. `hour_utc` is the hour of the start, 0..23, `weekday` 0
    (Monday)..6. `worker` is who ran it where that was not the node itself, and `pod` what a cluster
    gave it. `time_limit` is the multiple of the task's own agent timeout that was in force.
    """

    node: str
    node_profile: str | None
    runtime: str
    network: str
    requested: Limits | None
    effective: Effective | None = None
    slots: int | None
    co_running_start: int | None = None
    co_running_peak: int | None = None
    co_running_end: int | None = None
    co_running_mean: float | None = None
    concurrency: int | None = None
    load_start: Load | None = None
    load_end: Load | None = None
    hour_utc: int | None
    weekday: int | None
    agent_timeout_s: float | None = None
    time_limit: float | None = None
    worker: str | None = None
    pod: KubePod | None = None


class Usage(Value):
    """What the pod consumed: cumulative counters at the end, and our own share of the cost.

    `api_calls`, tokens and their cost are as the agent reports them.
    """

    counters: Counters | None = None
    agent_cpu_s: float | None = None
    verifier_cpu_s: float | None = None
    overhead_cpu_s: float | None = None
    api_calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Clocks(Value):
    """Separate clocks. Times are Unix seconds, durations seconds; a time limit binds `agent_s`.

    `api_wait_s` is the part of `agent_s` that the agent waited for its model, `working_s` the part
    that it did not wait for rate limits and shared resources. None: not told.
    """

    queued_at: float | None = None
    placed_at: float | None = None
    received_at: float | None
    prepare_s: float | None = 0.0
    start_s: float | None = 0.0
    setup_s: float | None = 0.0
    agent_s: float | None = 0.0
    api_wait_s: float | None = None
    working_s: float | None = None
    verifier_s: float | None = 0.0
    stop_s: float | None = 0.0
    ended_at: float | None

    @property
    def wall_s(self) -> float | None:
        """Seconds from receiving the attempt to its end; None where either is not told."""
        if self.received_at is None or self.ended_at is None:
            return None
        return self.ended_at - self.received_at
