"""The score of one level: a mean over task x entry strata, with infra errors told three ways."""

from dataclasses import dataclass

import numpy as np

from .arrays import Floats
from .contrasts import spread_of_mean
from .intervals import Interval
from .strata import Strata


@dataclass(frozen=True, slots=True)
class Score:
    """Mean over task x entry strata, as a fraction, with both standard errors.

    `df_new` are the degrees of freedom of `se_new`, tasks less one; None with one task.
    """

    est: float
    se_same: float | None
    se_new: float | None
    df_new: int | None = None


@dataclass(frozen=True, slots=True)
class Scores:
    """Infra errors as failures, left out, and as whatever they might have been."""

    strict: Score
    excluded: Score | None
    bounds: Interval


def score(table: Strata) -> Score | None:
    """Mean over entries, then over tasks, of one level's strata; None without trials.

    `se_same = sqrt(sum of noise)/(T M)`; `se_new = sd over tasks / sqrt(T)`, None with one task.
    A stratum of a single sample borrows its noise: the mean variance of a trial in the others;
    where there are no others, `se_same` is None.
    """
    entries = table.run.sum(axis=1)
    kept = entries > 0
    tasks = int(np.count_nonzero(kept))
    if tasks == 0:
        return None
    by_task = table.mean.sum(axis=1)[kept] / entries[kept]
    noise = _noise(table)
    same = None if noise is None else noise.sum(axis=1)[kept] / entries[kept] ** 2
    return Score(
        est=float(by_task.mean()),
        se_same=None if same is None else float(np.sqrt(same.sum())) / tasks,
        se_new=spread_of_mean(by_task),
        df_new=tasks - 1 if tasks > 1 else None,
    )


def _noise(table: Strata) -> Floats | None:
    single, known = table.n == 1, table.n > 1
    if not single.any():
        return table.noise
    if not known.any():
        return None
    of_a_trial = float((table.n * table.noise)[known].mean())
    return np.where(single, of_a_trial, table.noise)
