"""Run-level shared shocks: do the scores of repeated runs differ by more than sampling?

What the trials of one run share (a slow hour, a bad node, a provider's hiccup) does not average out
over trials. It shows as spread of run means beyond what binomial sampling gives:

    sigma2_run = mean over entries of [ var of run means - sum_t v_t n_t / T^2 ]

with `v_t n_t` the unbiased variance of one trial of task t, tested by
`chi2 = sum (K - 1) var / expected` on `sum (K - 1)` degrees.

Source: statistics.md 3.8; Fisher's index of dispersion (1925), Statistical Methods, section 57.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats
from .cells import Cells
from .grouping import mixed_radix
from .tails import chi2_above


@dataclass(frozen=True, slots=True)
class RunShocks:
    """Spread of run means beyond sampling.

    `sigma2_run` is a variance of fractions, unbiased and so at times below 0; `overdispersion` is
    chi2/df, about 1 when sampling explains all. `entries` (each at one level of what is held apart)
    and `runs` are those that entered.
    """

    sigma2_run: float
    chi2: float
    df: int
    p: float
    overdispersion: float
    entries: int
    runs: int


def run_shocks(cells: Cells, run: str = "run", apart: Sequence[str] = ()) -> RunShocks:
    """Test the runs of each entry against sampling alone.

    Args:
        cells: counts by task, entry and `run`. A run's label counts within its entry, so that
            labels may repeat between entries. Tasks that an entry's runs do not all have are left
            out of that entry.
        apart: factors that were set for whole runs: a run is compared with those of its own levels,
            so that what the factor does is no shock.
    Raises:
        SampleTooSmall: no entry has two runs of a common task with any spread.
        DesignError: cells without task, entry, `run` or a factor of `apart`.
    """
    cells.require("entry", run, "task", *apart)
    group, groups = cells.strata("entry", *apart)
    shape = [groups, len(cells.levels[run]), len(cells.levels["task"])]
    key, slots = mixed_radix([group, cells.codes[run], cells.codes["task"]], shape, len(cells))
    n, total, total_sq = (
        np.bincount(key, weights=column, minlength=slots).reshape(shape)
        for column in (cells.n, cells.reward_sum, cells.reward_sumsq)
    )
    found = [_of_entry(*tables) for tables in zip(n, total, total_sq, strict=True)]
    spreads = [spread for spread in found if spread is not None]
    if not spreads:
        raise SampleTooSmall("no entry has two runs of the same tasks; repeat the run")
    return _pooled(spreads)


@dataclass(frozen=True, slots=True)
class _Spread:
    runs: int
    observed: float
    expected: float


def _of_entry(n: Floats, total: Floats, total_sq: Floats) -> _Spread | None:
    """Variance of run means and what sampling gives; arguments (runs, tasks)."""
    run = n.sum(axis=1) > 0
    n, total, total_sq = n[run], total[run], total_sq[run]
    tasks = (n > 0).all(axis=0)
    runs, count = int(run.sum()), int(np.count_nonzero(tasks))
    if runs < 2 or count == 0:
        return None
    n, total, total_sq = n[:, tasks], total[:, tasks], total_sq[:, tasks]
    means = (total / n).mean(axis=1)
    all_n, all_sum = n.sum(axis=0), total.sum(axis=0)
    of_a_trial = (total_sq.sum(axis=0) - all_sum**2 / all_n) / (all_n - 1)
    expected = float(np.mean((of_a_trial / n).sum(axis=1))) / count**2
    if not expected > 0.0:
        return None
    return _Spread(runs, float(means.var(ddof=1)), expected)


def _pooled(spreads: list[_Spread]) -> RunShocks:
    df = sum(s.runs - 1 for s in spreads)
    chi2 = sum((s.runs - 1) * s.observed / s.expected for s in spreads)
    return RunShocks(
        sigma2_run=float(np.mean([s.observed - s.expected for s in spreads])),
        chi2=chi2,
        df=df,
        p=chi2_above(chi2, df),
        overdispersion=chi2 / df,
        entries=len(spreads),
        runs=sum(s.runs for s in spreads),
    )
