"""Trials that were killed under a tight ceiling and passed under a wider one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the trials of one task and entry in one band ended; `oom_killed` are infra errors too."""

    band: str
    n: int
    passed: int
    failed: int
    infra_errors: int
    oom_killed: int


@dataclass(frozen=True, slots=True)
class Pair:
    """One sample's two ends: killed by the kernel in one band, passed in a wider one."""

    sample: int
    killed_in: str
    passed_in: str
    killed_trial: str
    passed_trial: str


@dataclass(frozen=True, slots=True)
class KilledThenPassed:
    """One task and entry with such pairs; `samples` counts its samples that have an outcome."""

    task: str
    entry: str
    samples: int
    rescued: int
    by_band: tuple[Outcomes, ...]
    pairs: tuple[Pair, ...]


def killed_then_passed(
    accepted: pl.DataFrame, ceilings: Mapping[str, float], factors: Sequence[str] = ()
) -> tuple[KilledThenPassed, ...]:
    """Every task and entry of which a sample was OOM-killed low and passed high, most rescued
    first. A sample is compared with itself, at equal levels of the other `factors`.

    Args:
        accepted: attempts whose outcome is their trial's; see `attempt_frame`.
        ceilings: memory ceiling of each band in reading order, as a multiple; inf if uncapped.
    """
    pairs = _pairs(accepted, ceilings, factors)
    tally = outcomes(accepted, tuple(ceilings))
    samples = {
        (task, entry): count
        for task, entry, count in accepted.select("task", "entry", "sample", *factors)
        .unique()
        .group_by("task", "entry")
        .len()
        .iter_rows()
    }
    found = [
        KilledThenPassed(*key, samples[key], len(of), tally[key], tuple(of))
        for key, of in pairs.items()
    ]
    return tuple(sorted(found, key=lambda row: (-row.rescued, row.task, row.entry)))


def outcomes(
    accepted: pl.DataFrame, bands: Sequence[str]
) -> dict[tuple[str, str], tuple[Outcomes, ...]]:
    """Outcome counts per task and entry, one per band in the order given; n is 0 where none ran."""
    verdict = pl.col("verdict")
    rows = accepted.group_by("task", "entry", "band").agg(
        pl.len(),
        (verdict == "passed").sum().alias("passed"),
        (verdict == "failed").sum().alias("failed"),
        (verdict == "infra_error").sum().alias("infra"),
        _killed().sum().alias("killed"),
    )
    found = {row[:3]: row[3:] for row in rows.iter_rows()}
    keys = sorted({(task, entry) for task, entry, _ in found})
    return {
        key: tuple(Outcomes(band, *found.get((*key, band), (0,) * 5)) for band in bands)
        for key in keys
    }


def _killed() -> pl.Expr:
    return (pl.col("verdict") == "infra_error") & (pl.col("cause") == "oom_killed")


def _pairs(
    accepted: pl.DataFrame, ceilings: Mapping[str, float], factors: Sequence[str]
) -> dict[tuple[str, str], list[Pair]]:
    """Per task and entry, each rescued sample's tightest kill and the tightest pass above it."""
    same = ["task", "entry", "sample", *factors]
    known = accepted.filter(pl.col("band").is_in(list(ceilings))).with_columns(
        pl.col("band").replace_strict(ceilings, return_dtype=pl.Float64).alias("ceiling")
    )
    kept = [*same, "band", "ceiling", "trial"]
    killed = known.filter(_killed()).select(kept)
    passed = known.filter(pl.col("verdict") == "passed").select(kept)
    both = (
        killed.join(passed, on=same, suffix="_passed", nulls_equal=True)
        .filter(pl.col("ceiling_passed") > pl.col("ceiling"))
        .sort(*same, "ceiling", "ceiling_passed", "trial")
        .unique(subset=same, keep="first", maintain_order=True)
    )
    pairs: dict[tuple[str, str], list[Pair]] = {}
    for row in both.iter_rows(named=True):
        pairs.setdefault((row["task"], row["entry"]), []).append(
            Pair(row["sample"], row["band"], row["band_passed"], row["trial"], row["trial_passed"])
        )
    return pairs
