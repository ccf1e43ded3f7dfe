"""One level of a factor, as a table of tasks by entries."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .arrays import AnyArray, Bools, Floats, Ints
from .cells import STRATUM, Cells
from .grouping import mixed_radix
from .noise import noise_of_mean

type Measure = Literal["strict", "excluded", "infra"]
"""Infra errors as failures; left out; or themselves the thing that is counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Strata:
    """Means and their noise at one level; every array of shape (tasks, entries).

    Args:
        n: trials; 0 where the level was not run.
        mean: mean reward, or infra error rate, as a fraction; 0 where n is 0.
        noise: unbiased variance of the mean; 0 and meaningless where n is below 2.
    """

    n: Ints
    mean: Floats
    noise: Floats

    @property
    def run(self) -> Bools:
        """Where there are trials."""
        return self.n > 0


def strata_by_level(
    cells: Cells, factor: str = "band", measure: Measure = "strict"
) -> dict[str, Strata]:
    """Tables of task by entry, one per level of the factor, in the order of its levels.

    Raises:
        DesignError: the cells lack task, entry or the factor.
    """
    names = (factor, *STRATUM)
    cells.require(*names)
    shape = [len(cells.levels[name]) for name in names]
    key, slots = mixed_radix([cells.codes[name] for name in names], shape, len(cells))
    columns = [
        np.bincount(key, weights=column, minlength=slots).reshape(shape)
        for column in _moments(cells, measure)
    ]
    n, total, total_sq = columns[0].astype(np.int64), columns[1], columns[2]
    mean = np.divide(total, n, out=np.zeros(n.shape), where=n > 0)
    noise = noise_of_mean(n, total, total_sq)
    return {level: Strata(n[i], mean[i], noise[i]) for i, level in enumerate(cells.levels[factor])}


def _moments(cells: Cells, measure: Measure) -> tuple[AnyArray, AnyArray, AnyArray]:
    match measure:
        case "strict":
            return cells.n, cells.reward_sum, cells.reward_sumsq
        case "excluded":
            return cells.n - cells.infra, cells.reward_sum, cells.reward_sumsq
        case "infra":
            return cells.n, cells.infra, cells.infra
