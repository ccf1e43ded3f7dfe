"""The band report: per band the infra error rate, the score three ways, and the lift."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .cells import Cells
from .contrasts import Contrast, contrast
from .equivalence import MARGIN, Equivalence, equivalence
from .flags import Flag
from .intervals import Interval, Rate, clopper_pearson, rate
from .multiplicity import holm
from .proportions import TwoProportions, fisher, two_proportions
from .scores import Scores, score
from .strata import Strata, strata_by_level

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Lift:
    """Score of a band minus score of the reference, as fractions; see `Contrast`.

    `p_holm_*` are adjusted over all bands but the reference.
    """

    vs: str
    est: float
    se_naive: float
    se_same: float | None
    se_new: float | None
    df_new: int | None
    p_naive: float | None
    p_same: float | None
    p_new: float | None
    ci_same: Interval | None
    ci_new: Interval | None
    tau2: float | None
    tasks: int
    flags: tuple[Flag, ...]
    p_holm_same: float | None = None
    p_holm_new: float | None = None


@dataclass(frozen=True, slots=True)
class InfraLift:
    """Infra error rate of a band minus that of the reference, within strata, as a fraction.

    `p_naive` and `p_fisher` (exact) are those of two proportions that throw the pairing away.
    """

    est: float
    p_naive: float | None
    p_same: float | None
    se_same: float | None
    ci_same: Interval | None
    p_fisher: float


@dataclass(frozen=True, slots=True)
class BandRow:
    """One band of the report; None where there is nothing to say, and `flags` say why.

    `infra_rate` has the Wilson interval, `infra_rate_exact` is that of Clopper and Pearson.
    """

    band: str
    n: int
    passed: int
    infra_errors: int
    infra_rate: Rate | None
    score: Scores | None
    infra_rate_exact: Interval | None = None
    lift: Lift | None = None
    equivalence: Equivalence | None = None
    infra_lift: InfraLift | None = None
    flags: tuple[Flag, ...] = ()


def bands(
    cells: Cells,
    reference: str | None = None,
    *,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
    factor: str = "band",
) -> tuple[BandRow, ...]:
    """The band report, one row per level of `factor` in order; a level without trials is flagged.

    Args:
        reference: the level that lifts are taken against; by default the first.
        margin: of equivalence, a fraction. confidence: of every interval.
    Raises:
        DesignError: the cells lack task, entry or the factor, or the reference is no level of it.
        SampleTooSmall: neither a trial nor a level.
    """
    if not 0.0 < margin < 1.0:
        raise DesignError(f"margin {margin}: give a fraction between 0 and 1, 0.03 for 3 points")
    cells.require(factor, "task", "entry")
    order = cells.levels[factor]
    if not order:
        cells.require_trials()
    floor = order[0] if reference is None else order[cells.index(factor, reference)]
    tables = _Tables.of(cells, factor)
    return _with_holm([_row(tables, level, floor, margin, confidence) for level in order])


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """What every row reads: the three measures by level, and the plain sums by level."""

    strict: dict[str, Strata]
    excluded: dict[str, Strata]
    infra: dict[str, Strata]
    sums: dict[str, tuple[int, int, int, float]]

    @classmethod
    def of(cls, cells: Cells, factor: str) -> "_Tables":
        small = cells.by(factor, "task", "entry")
        codes, size = small.codes[factor], len(small.levels[factor])
        columns = (small.n, small.passed, small.infra, small.reward_sum)
        sums = [np.bincount(codes, weights=c, minlength=size).tolist() for c in columns]
        return cls(
            strata_by_level(small, factor, "strict"),
            strata_by_level(small, factor, "excluded"),
            strata_by_level(small, factor, "infra"),
            {
                level: (int(n), int(passed), int(infra), reward)
                for level, n, passed, infra, reward in zip(small.levels[factor], *sums, strict=True)
            },
        )


def _row(tables: _Tables, level: str, floor: str, margin: float, confidence: float) -> BandRow:
    n, passed, infra, _ = tables.sums[level]
    row = BandRow(
        band=level,
        n=n,
        passed=passed,
        infra_errors=infra,
        infra_rate=rate(infra, n, confidence) if n else None,
        score=_scores(tables, level),
        infra_rate_exact=clopper_pearson(infra, n, confidence) if n else None,
        flags=() if n else (Flag.NO_TRIALS,),
    )
    if level == floor or n == 0:
        return row
    try:
        found = contrast(tables.strict[level], tables.strict[floor], confidence=confidence)
    except SampleTooSmall:
        return replace(row, flags=(Flag.UNPAIRED,))
    return replace(
        row,
        lift=_lift(tables, found, level, floor),
        equivalence=equivalence(found, margin),
        infra_lift=_infra_lift(tables, level, floor),
        flags=found.flags,
    )


def _with_holm(rows: Sequence[BandRow]) -> tuple[BandRow, ...]:
    same = holm([row.lift.p_same if row.lift else None for row in rows])
    new = holm([row.lift.p_new if row.lift else None for row in rows])
    return tuple(
        replace(row, lift=replace(row.lift, p_holm_same=s, p_holm_new=n)) if row.lift else row
        for row, s, n in zip(rows, same, new, strict=True)
    )


def _scores(tables: _Tables, level: str) -> Scores | None:
    strict, missing = score(tables.strict[level]), score(tables.infra[level])
    if strict is None or missing is None:
        return None
    bounds = Interval(strict.est, min(1.0, strict.est + missing.est))
    return Scores(strict, score(tables.excluded[level]), bounds)


def _lift(tables: _Tables, found: Contrast, level: str, floor: str) -> Lift:
    naive = _naive(tables, level, floor, 3)
    return Lift(
        vs=floor,
        est=found.est,
        se_naive=naive.se,
        se_same=found.se_same,
        se_new=found.se_new,
        df_new=found.df_new,
        p_naive=naive.p,
        p_same=found.p_same,
        p_new=found.p_new,
        ci_same=found.ci_same,
        ci_new=found.ci_new,
        tau2=found.tau2,
        tasks=found.tasks,
        flags=found.flags,
    )


def _infra_lift(tables: _Tables, level: str, floor: str) -> InfraLift:
    found = contrast(tables.infra[level], tables.infra[floor])
    (n, _, infra, _), (n_floor, _, infra_floor, _) = tables.sums[level], tables.sums[floor]
    return InfraLift(
        est=found.est,
        p_naive=_naive(tables, level, floor, 2).p,
        p_same=found.p_same,
        se_same=found.se_same,
        ci_same=found.ci_same,
        p_fisher=fisher(infra, n, infra_floor, n_floor),
    )


def _naive(tables: _Tables, level: str, floor: str, column: int) -> TwoProportions:
    a, b = tables.sums[level], tables.sums[floor]
    return two_proportions(a[column], a[0], b[column], b[0])
