"""Tests of a trend over ordered bands: of the score by task, of the infra error rate."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats, Ints
from .cells import Cells
from .strata import Measure, strata_by_level
from .tails import below, chi2_above


@dataclass(frozen=True, slots=True)
class CochranArmitage:
    """Chi-square on 1 df of a linear trend in proportions; None where all trials ended alike."""

    stat: float | None
    p: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """Page's test that ranks rise over the levels, tasks as blocks; one-sided.

    Args:
        stat: L, the sum over levels of place times rank sum. blocks: tasks run at every level.
        p: by Page's normal approximation, which knows no ties and so errs on the safe side.
        p_tied: with the variance that ties leave; None where every task ties throughout.
    """

    stat: float
    p: float
    p_tied: float | None
    blocks: int


@dataclass(frozen=True, slots=True)
class Trend:
    """One omnibus line per question, over the ordered levels of a factor; None where none is had.

    `*_cochran_armitage` are chi-squares on 1 df; `score_page` is Page's L over `page_blocks` tasks,
    and `score_page_p_tied` its p with the variance that ties leave.
    """

    infra_cochran_armitage_p: float | None = None
    score_page_p: float | None = None
    infra_cochran_armitage: float | None = None
    score_cochran_armitage: float | None = None
    score_cochran_armitage_p: float | None = None
    score_page: float | None = None
    score_page_p_tied: float | None = None
    page_blocks: int = 0


def cochran_armitage(
    hits: Sequence[int], trials: Sequence[int], scores: Sequence[float] | None = None
) -> CochranArmitage:
    """Trend of proportions over ordered groups, with scores 1, 2, ... by default.

    Raises:
        SampleTooSmall: fewer than two groups with trials.
    Source: Armitage (1955), Biometrics 11:375-386; as R's prop.trend.test.
    """
    h, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    x = np.arange(1.0, n.size + 1) if scores is None else np.asarray(scores, dtype=np.float64)
    if np.count_nonzero(n) < 2:
        raise SampleTooSmall("a trend needs trials in two groups or more")
    pooled = h.sum() / n.sum()
    centred = x - (n @ x) / n.sum()
    spread = float(pooled * (1 - pooled) * (n @ centred**2))
    if spread <= 0.0:
        return CochranArmitage(None, None)
    stat = float(centred @ h) ** 2 / spread
    return CochranArmitage(stat, chi2_above(stat, 1))


def page(means: Floats) -> Page:
    """Page's trend test of a table of tasks (rows) by ordered levels (columns).

    Raises:
        SampleTooSmall: no row, or fewer than three columns.
    Source: Page (1963), JASA 58:216-230.
    """
    if means.ndim != 2 or means.shape[0] < 1 or means.shape[1] < 3:
        raise SampleTooSmall("Page's test needs one task or more, run at three levels or more")
    from scipy import stats  # it takes half a second, and few ask for this

    rows, k = means.shape
    ranks = stats.rankdata(means, axis=1)
    place = np.arange(1.0, k + 1)
    stat = float(place @ ranks.sum(axis=0))
    distance = stat - rows * k * (k + 1) ** 2 / 4
    untied = rows * k**2 * (k + 1) ** 2 * (k - 1) / 144
    squares = float(((ranks - (k + 1) / 2) ** 2).sum())
    tied = squares * float(((place - (k + 1) / 2) ** 2).sum()) / (k - 1)
    p_tied = below(-distance / np.sqrt(tied)) if tied > 0.0 else None
    return Page(stat, below(-distance / np.sqrt(untied)), p_tied, rows)


def trend(cells: Cells, factor: str = "band") -> Trend:
    """All omnibus tests over a factor's levels; None where the data cannot give one.

    Raises:
        DesignError: the cells lack task, entry or the factor.
    """
    cells.require("task", "entry")
    totals = cells.by(factor)
    infra = _proportions(totals.infra, totals.n)
    score = (
        CochranArmitage(None, None) if cells.fractional else _proportions(totals.passed, totals.n)
    )
    ranks = _ranks(cells, factor)
    return Trend(
        infra_cochran_armitage_p=infra.p,
        score_page_p=ranks.p if ranks else None,
        infra_cochran_armitage=infra.stat,
        score_cochran_armitage=score.stat,
        score_cochran_armitage_p=score.p,
        score_page=ranks.stat if ranks else None,
        score_page_p_tied=ranks.p_tied if ranks else None,
        page_blocks=ranks.blocks if ranks else 0,
    )


def _proportions(hits: Ints, trials: Ints) -> CochranArmitage:
    try:
        return cochran_armitage(hits.tolist(), trials.tolist())
    except SampleTooSmall:
        return CochranArmitage(None, None)


def _ranks(cells: Cells, factor: str) -> Page | None:
    if not len(cells):
        return None
    try:
        return page(_task_means(cells, factor, "strict"))
    except SampleTooSmall:
        return None


def _task_means(cells: Cells, factor: str, measure: Measure) -> Floats:
    """Means over entries of the tasks run at every level that was run; (tasks, levels)."""
    tables = [t for t in strata_by_level(cells, factor, measure).values() if t.run.any()]
    throughout = np.logical_and.reduce([t.run for t in tables])
    entries = throughout.sum(axis=1)
    kept = entries > 0
    means = [np.where(throughout, t.mean, 0.0).sum(axis=1)[kept] / entries[kept] for t in tables]
    return np.column_stack(means)
