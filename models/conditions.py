"""Conditions, usage and clocks: what surrounded an attempt, what it took, how long each part."""

from .counters import Counters
from .kube_pod import KubePod
from .limits import Effective, Limits
from .load import Load
from .probe import Probe
from .value import Value

UNRECORDED = "unrecorded"
"""The label of what a source of imported results does not say."""


class Conditions(Value):
    """What surrounded an attempt on its node. None and `UNRECORDED`: its source does not tell.

    `co_running` counts other attempts on the same worker at start, at its peak, at the end and in
    the mean over its time; `concurrency` is how many were asked for in all, None: the node's own;
    `slots` how many it may hold. `hour_utc` is the hour of the start, 0..23, `weekday` 0
    (Monday)..6. `worker` is who ran it where that was not the node itself, and `pod` what a cluster
    gave it. `ceilings_peak_bytes` is the highest sum of the memory ceilings of attempts that ran
    together, this one among them (uncapped ones count 0). `load_peak` is, field by field, the worst
    that was sampled between start and end.
    `allow` is what its pod could reach where `network` is "gateway".
    `egress_asked` is the level of that factor. `clock_offset_s` is how far the node's clock was
    ahead of the scheduler's when last measured, off by `clock_error_s` at most; `clock_step_s` how
    far it was set forward (or back) during the attempt, `suspended_s` how long the machine slept.
    `probe` is the node's speed as last probed before. `warnings` are words of
    `validity.WARNINGS`; None: nobody looked. `time_limit` is the multiple of the task's own agent
    timeout that was in force.
    """

    node: str
    node_profile: str | None
    runtime: str
    network: str
    allow: tuple[str, ...] = ()
    requested: Limits | None
    effective: Effective | None = None
    slots: int | None
    co_running_start: int | None = None
    co_running_peak: int | None = None
    co_running_end: int | None = None
    co_running_mean: float | None = None
    concurrency: int | None = None
    ceilings_peak_bytes: int | None = None
    load_start: Load | None = None
    load_peak: Load | None = None
    load_end: Load | None = None
    egress_asked: str | None = None
    clock_offset_s: float | None = None
    clock_error_s: float | None = None
    clock_step_s: float | None = None
    suspended_s: float | None = None
    probe: Probe | None = None
    warnings: tuple[str, ...] | None = None
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
