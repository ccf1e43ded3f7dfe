"""The infra card: what must be published so that others can compare a score.

Whatever is None, or an empty list, is unstated: nobody recorded it. Rates are fractions, times
seconds, sizes bytes; dates are ISO 8601. The JSON schema of this value is `docs/card.schema.json`.
"""

from typing import Literal

from pydantic import Field

from .node import NodeProfile
from .source import Unrecorded
from .value import Value


class ShareCard(Value):
    """Floor and ceiling of one resource, as multiples of each task's spec; a floor of None
    guarantees nothing."""

    floor: float | None
    ceiling: float | Literal["uncapped"]


class BandCard(Value):
    """One configuration of resources; without shares nobody stated them."""

    name: str
    memory: ShareCard | None = None
    cpu: ShareCard | None = None
    storage: ShareCard | None = None
    oom_scope: str | None = None
    swap: float | None = None


class NodeCard(Value):
    """A machine, or several of one kind, and the trials that ran on it."""

    profile: NodeProfile | None
    nodes: int
    trials: int


class SpreadCard(Value):
    """Lowest, median and highest of a reading, and the trials that have it."""

    n: int
    low: float
    median: float
    high: float


class ClockCard(Value):
    """How long one part of an attempt took."""

    part: str
    n: int
    median_s: float
    p90_s: float
    longest_s: float


class ErrorsCard(Value):
    """Infra errors of one band, with the 95 % interval of their rate.

    `rate_without_collateral` counts trials in which only a child was killed as failures.
    """

    band: str
    trials: int
    infra_errors: int
    rate: float
    interval: tuple[float, float]
    rate_without_collateral: float
    causes: dict[str, int]


class EntryCard(Value):
    """Who competed."""

    name: str
    agent: str
    model: str


class ApiCard(Value):
    """The API of the models. `api_wait`: whether waiting for it takes the agent's time, of which
    `longest_api_wait_s` are left out at most where it does not.

    Calls are of all attempts; a latency is the median over attempts of each one's own percentile.
    `wait_share` is the share of agents' time that was waiting.
    """

    api_wait: Literal["counts", "excluded"]
    longest_api_wait_s: float | None = None
    calls: int
    failed: int
    rate_limited: int
    server_errors: int
    cut: int
    first_byte_p50_s: float | None = None
    first_byte_p95_s: float | None = None
    total_p50_s: float | None = None
    total_p95_s: float | None = None
    wait_share: float | None = None
    cost_usd: float | None = None


class SourceCard(Value):
    """Where imported results came from, and what their source does not record."""

    kind: str
    harness: str
    content_hash: str
    modes_version: int
    overrides: str
    unrecorded: tuple[Unrecorded, ...]


class Card(Value):
    """The card; see the module's head."""

    format: Literal["infranoise.card/1"] = "infranoise.card/1"
    experiment: str
    fingerprint: str | None = None
    entries: tuple[EntryCard, ...] = ()
    tasks: dict[str, str] = Field(default_factory=dict)
    samples: int | None = None
    seed: int | None = None
    trials_planned: int
    trials_ended: int
    dates: str | None = None
    bands: tuple[BandCard, ...] = ()
    enforcement: tuple[str, ...] = ()
    limits_not_in_force: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()
    nodes: tuple[NodeCard, ...] = ()
    concurrency: tuple[str, ...] = ()
    concurrency_in_force: SpreadCard | None = None
    egress: tuple[str, ...] = ()
    received_bytes: int | None = None
    sent_bytes: int | None = None
    time_limits: tuple[str, ...] = ()
    agent_time_limits: tuple[str, ...] = ()
    model_api: ApiCard | None = None
    attempts: int
    attempts_per_trial_at_most: int | None = None
    clocks: tuple[ClockCard, ...] = ()
    infra_errors: tuple[ErrorsCard, ...] = ()
    excluded: tuple[str, ...] = ()
    harness: tuple[str, ...] = ()
    agent_versions: tuple[str, ...] = ()
    outcome_rules: int
    infranoise: str
    sources: tuple[SourceCard, ...] = ()
    configuration: dict[str, tuple[str, ...]] = Field(default_factory=dict)
