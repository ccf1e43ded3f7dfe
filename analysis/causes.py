"""Why infrastructure ended trials: causes per band, with and without killed children."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ..models.outcome import INFRA_CAUSES
from .intervals import Rate, rate

OOM_PLACES = ("main", "collateral", "recovered", "verifier")


@dataclass(frozen=True, slots=True)
class BandCauses:
    """One band's infra errors by cause.

    `collateral` counts the infra errors in which only a child of the agent was killed; the second
    rate counts those as failures of the entry instead. `kills` counts trials by the place of an
    OOM kill; a `recovered` one passed all the same. Rates are None without a trial.
    """

    band: str
    n: int
    infra_errors: int
    collateral: int
    infra_rate: Rate | None
    infra_rate_without_collateral: Rate | None
    causes: Mapping[str, int]
    kills: Mapping[str, int]


def causes(accepted: pl.DataFrame, bands: Sequence[str]) -> tuple[BandCauses, ...]:
    """Causes of every band, in the order given; causes in the order of `INFRA_CAUSES`.

    Args:
        accepted: attempts whose outcome is their trial's; see `attempt_frame`.
    """
    by_cause = _counts(accepted.filter(pl.col("verdict") == "infra_error"), "cause")
    by_place = _counts(accepted.filter(pl.col("oom").is_not_null()), "oom")
    collateral = _counts(
        accepted.filter((pl.col("verdict") == "infra_error") & (pl.col("oom") == "collateral")),
        "oom",
    )
    n = dict(accepted.group_by("band").len().iter_rows())
    return tuple(
        _row(
            band,
            n.get(band, 0),
            collateral.get((band, "collateral"), 0),
            _ordered(by_cause, band, INFRA_CAUSES),
            {place: by_place.get((band, place), 0) for place in OOM_PLACES},
        )
        for band in bands
    )


def _row(
    band: str, n: int, collateral: int, found: Mapping[str, int], kills: Mapping[str, int]
) -> BandCauses:
    infra = sum(found.values())
    return BandCauses(
        band=band,
        n=n,
        infra_errors=infra,
        collateral=collateral,
        infra_rate=rate(infra, n) if n else None,
        infra_rate_without_collateral=rate(infra - collateral, n) if n else None,
        causes=found,
        kills=kills,
    )


def _counts(frame: pl.DataFrame, column: str) -> dict[tuple[str, str], int]:
    rows = frame.group_by("band", column).len().iter_rows()
    return {(band, word): count for band, word, count in rows}


def _ordered(
    counts: Mapping[tuple[str, str], int], band: str, words: Sequence[str]
) -> dict[str, int]:
    """A band's counts by word, those that occurred, in the order of `words`."""
    return {word: counts[band, word] for word in words if (band, word) in counts}
