"""Where attempts ran and what surrounded them: nodes, enforcement, load, limits not in force."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ..models.node import NodeProfile
from ..models.validity import WARNINGS
from .intervals import Rate, rate

READINGS = (
    "start_load1",
    "end_load1",
    "peak_load1",
    "start_psi_cpu_some10",
    "peak_psi_cpu_some10",
    "end_psi_cpu_some10",
    "start_psi_mem_some10",
    "peak_psi_mem_some10",
    "end_psi_mem_some10",
    "start_psi_io_some10",
    "peak_psi_io_some10",
    "end_psi_io_some10",
    "co_running_start",
    "co_running_peak",
    "co_running_end",
    "co_running_mean",
    "slots",
    "during_steal_s",
    "during_swapped_pages",
    "during_system_oom_kills",
    "during_thermal_throttles",
    "effective_egress_mbps",
    "effective_egress_down_mbps",
    "effective_egress_up_mbps",
    "rx_bytes",
    "tx_bytes",
    "clock_offset_s",
    "clock_error_s",
    "probe_cpu_ops_s",
    "probe_memory_mb_s",
    "probe_disk_mb_s",
    "api_first_byte_p50_s",
    "api_first_byte_p95_s",
    "api_total_p50_s",
    "api_total_p95_s",
    "api_failed",
    "api_rate_limited",
    "api_server_errors",
    "api_cut",
    "egress_hosts",
    "egress_refused",
    "egress_dns_failed",
)
SETTINGS = ("runtime", "enforcement", "network", "counters_source", "effective_oom_scope")


@dataclass(frozen=True, slots=True)
class Node:
    """One node: its attempts with an outcome, and what it is; None where its profile is unknown."""

    node: str
    n: int
    infra_errors: int
    infra_rate: Rate
    profiles: tuple[str, ...]
    profile: NodeProfile | None


@dataclass(frozen=True, slots=True)
class Setting:
    """How many attempts ran under one level of one setting; `level` is "unknown" if not told."""

    setting: str
    level: str
    attempts: int
    infra_errors: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The spread of one reading over the attempts that have it; units as its name says."""

    reading: str
    n: int
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class Deviation:
    """A requested limit that was not in force, in the runtime's words, and how often."""

    what: str
    attempts: int
    bands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Warned:
    """A validity warning, what it says, and of how many attempts; `judged` were looked at."""

    warning: str
    meaning: str
    attempts: int
    infra_errors: int
    judged: int


def nodes(accepted: pl.DataFrame, profiles: Mapping[str, NodeProfile]) -> tuple[Node, ...]:
    """Every node with an accepted attempt, by name."""
    rows = accepted.group_by("node").agg(
        pl.len(), _infra(), pl.col("node_profile").drop_nulls().unique().sort()
    )
    return tuple(
        Node(node, n, infra, rate(infra, n), tuple(hashes), profiles.get(node))
        for node, n, infra, hashes in rows.sort("node").iter_rows()
    )


def settings(accepted: pl.DataFrame) -> tuple[Setting, ...]:
    """Counts by runtime, enforcement, network, source of the counters and scope of an OOM kill."""
    told = accepted.filter(pl.col("node_profile").is_not_null())
    return tuple(
        Setting(name, *row)
        for name in SETTINGS
        for row in told.group_by(pl.col(name).replace("", None).fill_null("unknown"))
        .agg(pl.len(), _infra())
        .sort("len", name, descending=[True, False])
        .iter_rows()
    )


def readings(accepted: pl.DataFrame) -> tuple[Reading, ...]:
    """Lowest, median and highest of each reading, those that no attempt has left out."""
    found = []
    for name in READINGS:
        values = accepted[name].drop_nulls().cast(pl.Float64)
        if values.len():
            column = pl.col(name)
            row = values.to_frame().select(
                n=pl.len(), low=column.min(), median=column.median(), high=column.max()
            )
            found.append(Reading(name, **row.row(0, named=True)))
    return tuple(found)


def deviations(accepted: pl.DataFrame, bands: Sequence[str]) -> tuple[Deviation, ...]:
    """Requested limits that were not in force, the most frequent first."""
    rows = (
        accepted.select("band", "differs")
        .explode("differs")
        .drop_nulls("differs")
        .group_by("differs")
        .agg(pl.len(), pl.col("band").unique())
        .sort("len", "differs", descending=[True, False])
    )
    return tuple(
        Deviation(what, count, tuple(band for band in bands if band in where))
        for what, count, where in rows.iter_rows()
    )


def warned(accepted: pl.DataFrame) -> tuple[Warned, ...]:
    """Validity warnings that were raised, the most frequent first."""
    judged = accepted.filter(pl.col("warnings").is_not_null())
    rows = (
        judged.select("warnings", "verdict")
        .explode("warnings")
        .drop_nulls("warnings")
        .group_by("warnings")
        .agg(pl.len(), _infra())
        .sort("len", "warnings", descending=[True, False])
    )
    return tuple(
        Warned(word, WARNINGS[word][0] if word in WARNINGS else "", count, infra, judged.height)
        for word, count, infra in rows.iter_rows()
    )


def _infra() -> pl.Expr:
    return (pl.col("verdict") == "infra_error").sum().alias("infra_errors")
