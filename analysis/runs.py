"""The run component: what the trials of one run share beyond their tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats
from .cells import Cells, noise_of_mean
from .grouping import mixed_radix
from .tails import chi2_above


@dataclass(frozen=True, slots=True)
class RunComponent:
    """Variance of a run's mean beyond what sampling explains.

    Args:
        variance: of a shock shared by a run, as a fraction squared; unbiased, at times below 0.
        stat, df, p: chi-square of overdispersion, one-sided; p is None without sampling noise.
        overdispersion: stat / df, about 1 if runs share nothing.
        entries, runs: how many entries, and runs over all of them, enter.
    """

    variance: float
    stat: float | None
    df: int
    p: float | None
    overdispersion: float | None
    entries: int
    runs: int


def run_component(
    cells: Cells, run: str = "wave", entries: Sequence[str] = ("entry",)
) -> RunComponent:
    """The mean over entries of `var(run means) - expected`, and its test.

    A run's mean is over its tasks' means. With `w_t = n v_t`, the variance of one trial of task t,
    pooled over runs, and m_rt trials of it in run r, sampling alone gives run r the variance
    `sum_t w_t / m_rt / T^2`; expected is their mean over runs. Only tasks that are in every run of
    an entry enter.

    Args:
        run: the factor that names runs. entries: factors that say whose runs are comparable,
            ("entry", "band") where a run held one band.
    Raises:
        DesignError: the cells lack task, the run or an entry factor.
        SampleTooSmall: no entry has two runs that share a task.
    Source: statistics.md 3.8; the chi-square treats run means as normal.
    """
    names = (*entries, run, "task")
    cells.require(*names)
    sizes = [len(cells.levels[name]) for name in names]
    key, slots = mixed_radix([cells.codes[name] for name in names], sizes, len(cells))
    shape = (-1, *sizes[-2:])
    n, total, total_sq = (
        np.bincount(key, weights=column, minlength=slots).reshape(shape)
        for column in (cells.n, cells.reward_sum, cells.reward_sumsq)
    )
    found = [_entry(*columns) for columns in zip(n, total, total_sq, strict=True)]
    spreads = [spread for spread in found if spread is not None]
    if not spreads:
        raise SampleTooSmall(
            f"no entry has the same task under two levels of {run}; what runs share shows only "
            "where each entry is run twice or more"
        )
    return _pooled(spreads)


@dataclass(frozen=True, slots=True)
class _Spread:
    """Of one entry: the variance of its run means, what sampling expects, and how many runs."""

    observed: float
    expected: float
    runs: int


def _entry(n: Floats, total: Floats, total_sq: Floats) -> _Spread | None:
    """Of arrays (runs, tasks); None where there are no two runs with a common task."""
    held = n[n.sum(axis=1) > 0]
    if len(held) < 2:
        return None
    here = n.sum(axis=1) > 0
    common = (n[here] > 0).all(axis=0)
    tasks = int(np.count_nonzero(common))
    if tasks == 0:
        return None
    n, total, total_sq = (a[np.ix_(here, common)] for a in (n, total, total_sq))
    pooled = n.sum(axis=0)
    of_a_trial = pooled * noise_of_mean(
        pooled.astype(np.int64), total.sum(axis=0), total_sq.sum(axis=0)
    )
    means = (total / n).mean(axis=1)
    expected = (of_a_trial / n).sum(axis=1).mean() / tasks**2
    return _Spread(float(means.var(ddof=1)), float(expected), len(means))


def _pooled(spreads: Sequence[_Spread]) -> RunComponent:
    variance = float(np.mean([s.observed - s.expected for s in spreads]))
    df = sum(s.runs - 1 for s in spreads)
    testable = all(s.expected > 0.0 for s in spreads)
    stat = sum((s.runs - 1) * s.observed / s.expected for s in spreads) if testable else None
    return RunComponent(
        variance,
        stat,
        df,
        None if stat is None else chi2_above(stat, df),
        None if stat is None else stat / df,
        len(spreads),
        sum(s.runs for s in spreads),
    )
