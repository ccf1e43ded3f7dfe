"""Contrasts within task x entry strata, with the two standard errors that belong together.

*Same tasks*: would this repeat on these tasks? The noise within cells alone.
*New tasks*: would it hold on other tasks? The spread of the tasks' own differences.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Bools, Floats
from .flags import Flag
from .intervals import Interval, around
from .strata import Strata
from .tails import two_sided

AGREE = 1e-12


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference of two levels as a fraction, averaged over entries, then over tasks.

    A standard error, p-value or interval is None where the counts cannot give it; `flags` say why.
    `tau2` is the variance of the tasks' true differences, unbiased and so at times below 0.
    """

    est: float
    se_same: float | None
    se_new: float | None
    df_new: int | None
    p_same: float | None
    p_new: float | None
    ci_same: Interval | None
    ci_new: Interval | None
    tau2: float | None
    tasks: int
    strata: int
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Differences by task, the ground of a contrast.

    Args:
        by_task: mean over entries of a - b; shape (tasks,), tasks with a shared stratum only.
        noise: variance of each of them by the noise within cells; None if it cannot be had.
        kept: which tasks of the table these are; shape (all tasks,).
        strata: how many strata enter.
    """

    by_task: Floats
    noise: Floats | None
    kept: Bools
    strata: int
    singles: bool


def differences(a: Strata, b: Strata, scale: float = 1.0) -> Differences:
    """`a - scale * b` by task, over the strata that were run at both levels.

    Strata with a cell of one sample show no noise of their own; their noise is then the squared
    distance of their difference from the mean difference, over one minus its weight (as HC2 has
    it): right on average where all strata share one effect, too large otherwise, never zero.

    Raises:
        SampleTooSmall: no stratum was run at both levels.
    """
    shared = a.run & b.run
    entries = shared.sum(axis=1)
    kept = entries > 0
    if not kept.any():
        raise SampleTooSmall("no task and entry was run at both levels; nothing to compare")
    gap = np.where(shared, a.mean - scale * b.mean, 0.0)
    by_task = gap.sum(axis=1)[kept] / entries[kept]
    noise = np.where(shared, a.noise + scale * scale * b.noise, 0.0)
    singles = shared & ((a.n < 2) | (b.n < 2))
    strata = int(entries.sum())
    if singles.any():
        if strata < 2:
            return Differences(by_task, None, kept, strata, True)
        weight = 1.0 / (by_task.size * np.maximum(entries, 1))[:, None]
        spread = (gap - by_task.mean()) ** 2
        noise = np.divide(spread, 1.0 - weight, out=noise, where=singles)
    return Differences(
        by_task, noise.sum(axis=1)[kept] / entries[kept] ** 2, kept, strata, bool(singles.any())
    )


def contrast(a: Strata, b: Strata, *, scale: float = 1.0, confidence: float = 0.95) -> Contrast:
    """The contrast `a - scale * b` within strata.

    `d_t` is the mean over entries of the stratum differences; the estimate is their mean over T
    tasks; `se_same = sqrt(sum of noise)/T` with normal quantiles, `se_new = sd(d_t)/sqrt(T)` with
    t(T-1), `tau2 = var(d_t) - mean noise of d_t`.

    Args:
        a, b: the two levels. scale: 1 for a difference, or rho to ask whether a < rho * b.
    Raises:
        SampleTooSmall: no stratum was run at both levels.
    Source: Miller (2024), arXiv:2411.00640, for the paired error over tasks; statistics.md 3.2.
    """
    pairs = differences(a, b, scale)
    d, tasks = pairs.by_task, pairs.by_task.size
    est = float(d.mean())
    same = None if pairs.noise is None else float(np.sqrt(pairs.noise.sum())) / tasks
    new = spread_of_mean(d)
    df = tasks - 1 if tasks > 1 else None
    return Contrast(
        est=est,
        se_same=same,
        se_new=new,
        df_new=df,
        p_same=None if same is None else two_sided(est, same),
        p_new=None if new is None else two_sided(est, new, df),
        ci_same=around(est, same, None, confidence) if same else None,
        ci_new=around(est, new, df, confidence) if new else None,
        tau2=_tau2(pairs),
        tasks=tasks,
        strata=pairs.strata,
        flags=_flags(pairs, same, new),
    )


def spread_of_mean(by_task: Floats) -> float | None:
    """`sd/sqrt(T)` over tasks; 0 where all tasks agree but for rounding, None with one task."""
    if by_task.size < 2:
        return None
    if np.ptp(by_task) < AGREE:
        return 0.0
    return float(np.sqrt(by_task.var(ddof=1) / by_task.size))


def _tau2(pairs: Differences) -> float | None:
    if pairs.noise is None or pairs.singles or pairs.by_task.size < 2:
        return None
    return float(pairs.by_task.var(ddof=1) - pairs.noise.mean())


def _flags(pairs: Differences, se_same: float | None, se_new: float | None) -> tuple[Flag, ...]:
    raised: Sequence[tuple[Flag, bool]] = (
        (Flag.ONE_TASK, pairs.by_task.size < 2),
        (Flag.SINGLE_SAMPLES, pairs.singles),
        (Flag.NO_SPREAD, se_same == 0.0),
        (Flag.TASKS_AGREE, se_new == 0.0),
    )
    return tuple(flag for flag, up in raised if up)
