"""Effects of a factor's levels, tested between the units at which its levels were assigned."""

from dataclasses import dataclass, replace
from math import sqrt

from .arrays import Floats
from .fit import Fit
from .intervals import Interval, around
from .multiplicity import holm
from .tails import two_sided


@dataclass(frozen=True, slots=True)
class LevelEffect:
    """Effect of a level against the reference, as a fraction, other factors held.

    Every number is None where the level is aliased, and a test's where its units are too few.

    Args:
        se_same, p_same, ci_same: by the noise within cells (HC2): on these tasks, with these waves.
        se_assigned, df, p, ci: between the units that count: tasks, or waves for a factor that was
            set per wave.
        p_holm: p adjusted over the levels of the factor.
        se_two_way: of a factor set per wave, between waves and between tasks at once: would it
            hold in other waves and on other tasks?
    """

    level: str
    est: float | None = None
    se_same: float | None = None
    se_assigned: float | None = None
    df: float | None = None
    p_same: float | None = None
    p: float | None = None
    p_holm: float | None = None
    ci_same: Interval | None = None
    ci: Interval | None = None
    se_two_way: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Between:
    """Covariance of the effects between units, shape (p, p).

    Args:
        df: degrees of freedom of each effect's test, shape (p,); 0 where the units do not
            suffice for one.
        two_way: covariance between waves and tasks, `V_w + V_t - V_wt`; None between tasks alone.
    """

    covariance: Floats
    df: Floats
    two_way: Floats | None = None


def level_effects(
    fit: Fit, factor: str, between: Between | None, confidence: float = 0.95
) -> tuple[LevelEffect, ...]:
    """Effects of the factor's levels but the reference, in the order of its levels."""
    design = fit.design
    place = {design.columns[i].level: i for i in design.of(factor)}
    lost = {column.level for column in design.aliased if column.factor == factor}
    rows = [
        LevelEffect(level) if level in lost else _effect(fit, level, place, between, confidence)
        for level in design.cells.levels[factor]
        if level in lost or level in place
    ]
    adjusted = holm([row.p for row in rows])
    return tuple(replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))


def _effect(
    fit: Fit, level: str, place: dict[str, int], between: Between | None, confidence: float
) -> LevelEffect:
    i = place[level]
    est, same = float(fit.effects[i]), _root(fit.same[i, i])
    row = LevelEffect(
        level,
        est,
        se_same=same,
        p_same=two_sided(est, same),
        ci_same=around(est, same, None, confidence) if same else None,
    )
    if between is None:
        return row
    if between.two_way is not None:
        row = replace(row, se_two_way=_root(between.two_way[i, i]))
    se, df = _root(between.covariance[i, i]), float(between.df[i])
    if df <= 0.0 or se == 0.0:
        return replace(row, se_assigned=se)
    return replace(
        row,
        se_assigned=se,
        df=df,
        p=two_sided(est, se, df),
        ci=around(est, se, df, confidence),
    )


def _root(variance: float) -> float:
    return sqrt(max(float(variance), 0.0))
