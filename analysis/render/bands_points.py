"""Rows of the charts on bands, in percent."""

from typing import Any

from ..bands import BandRow
from ..intervals import Interval, around
from ..printable import one_line
from ..scores import Score
from ..words import percents


def score_point(row: BandRow) -> dict[str, Any]:
    """A row of `score_chart`."""
    assert row.score is not None
    strict, excluded = row.score.strict, row.score.excluded
    same = _interval(strict, strict.se_same, None)
    new = _interval(strict, strict.se_new, strict.df_new)
    return {
        "band": one_line(row.band),
        "n": row.n,
        "strict": 100 * strict.est,
        "excluded": 100 * excluded.est if excluded else None,
        "lo": 100 * row.score.bounds.lo,
        "hi": 100 * row.score.bounds.hi,
        **_ends("same", same),
        **_ends("new", new),
    }


def _interval(score: Score, se: float | None, df: int | None) -> Interval | None:
    """A score's interval, cut at 0 and 1."""
    if not se:
        return None
    lo, hi = around(score.est, se, df)
    return Interval(max(0.0, lo), min(1.0, hi))


def _ends(name: str, interval: Interval | None) -> dict[str, Any]:
    if interval is None:
        return {f"{name}_lo": None, f"{name}_hi": None, name: "none"}
    return {
        f"{name}_lo": 100 * interval.lo,
        f"{name}_hi": 100 * interval.hi,
        name: percents(*interval),
    }


def rate_point(row: BandRow) -> dict[str, Any]:
    """A row of `rate_chart`."""
    assert row.infra_rate is not None
    est, lo, hi = row.infra_rate
    return {
        "band": one_line(row.band),
        "rate": 100 * est,
        "lo": 100 * lo,
        "hi": 100 * hi,
        "infra_errors": row.infra_errors,
        "n": row.n,
    }
