"""How long each part of an attempt took, and what it cost."""

from dataclasses import dataclass

import polars as pl

PARTS = (
    "wait_s",
    "prepare_s",
    "start_s",
    "setup_s",
    "agent_s",
    "api_wait_s",
    "verifier_s",
    "stop_s",
)


@dataclass(frozen=True, slots=True)
class Clock:
    """One part's durations over attempts, in seconds."""

    part: str
    n: int
    median_s: float
    p90_s: float
    longest_s: float
    total_s: float


@dataclass(frozen=True, slots=True)
class Cost:
    """What the run took. None: no attempt told.

    `elapsed_s` is wall time from the first attempt received to the last ended, pauses included;
    `overhead_cpu_s` is CPU time of infranoise itself on the nodes.
    """

    attempts: int
    started_at: float | None
    ended_at: float | None
    elapsed_s: float | None
    pod_cpu_s: float | None
    overhead_cpu_s: float | None
    api_calls: int | None
    api_usd: float | None
    rx_bytes: int | None
    tx_bytes: int | None
    largest_peak_bytes: int | None
    throttled_s: float | None


def clocks(attempts: pl.DataFrame) -> tuple[Clock, ...]:
    """Durations of every part, over the attempts whose record came home.

    `wait_s` is from placing an attempt to its node's receiving it; `api_wait_s` is a part of
    `agent_s`.
    """
    told = attempts.filter(pl.col("received_at").is_not_null()).with_columns(
        (pl.col("received_at") - pl.col("placed_at")).clip(lower_bound=0.0).alias("wait_s")
    )
    return tuple(_clock(part, told[part].drop_nulls()) for part in PARTS if told[part].count())


def _clock(part: str, seconds: pl.Series) -> Clock:
    column = pl.col(part)
    row = seconds.to_frame().select(
        n=pl.len(),
        median_s=column.median(),
        p90_s=column.quantile(0.9, interpolation="linear"),
        longest_s=column.max(),
        total_s=column.sum(),
    )
    return Clock(part, **row.row(0, named=True))


def cost(attempts: pl.DataFrame) -> Cost:
    """Totals over all attempts, retries and cancelled ones included."""
    started, ended = pl.col("received_at").min(), pl.col("ended_at").max()
    row = attempts.select(
        attempts=pl.len(),
        started_at=started,
        ended_at=ended,
        elapsed_s=ended - started,
        pod_cpu_s=_total("cpu_s"),
        overhead_cpu_s=_total("overhead_cpu_s"),
        api_calls=_total("api_calls"),
        api_usd=_total("cost_usd"),
        rx_bytes=_total("rx_bytes"),
        tx_bytes=_total("tx_bytes"),
        largest_peak_bytes=pl.col("memory_peak_bytes").max(),
        throttled_s=_total("throttled_s"),
    )
    return Cost(**row.row(0, named=True))


def _total(name: str) -> pl.Expr:
    """The sum, null where no attempt told: a sum of nothing is no 0."""
    return pl.when(pl.col(name).count() > 0).then(pl.col(name).sum())
