"""Two levels as 2x2 tables of trials, one per stratum: the ground of the exact companions."""

from dataclasses import dataclass

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Bools, Ints
from .cells import STRATUM, Cells
from .grouping import mixed_radix
from .strata import Measure


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Hits and trials at levels a and b; every array of shape (strata run at both levels,).

    Args:
        task: index of each stratum's task, for weights.
    """

    hits_a: Ints
    n_a: Ints
    hits_b: Ints
    n_b: Ints
    task: Ints

    @property
    def informative(self) -> Bools:
        """Strata with a hit and a miss; the others say nothing of a difference."""
        hits = self.hits_a + self.hits_b
        return (hits > 0) & (hits < self.n_a + self.n_b)


def pairs(
    cells: Cells, a: str, b: str, *, factor: str = "band", measure: Measure = "strict"
) -> Pairs:
    """The strata of task and entry that were run at both levels.

    Raises:
        DesignError: no such factor or level, or fractional rewards, which are no counts.
        SampleTooSmall: no stratum was run at both levels.
    """
    cells.require(factor, *STRATUM)
    if cells.fractional and measure != "infra":
        raise DesignError("tests on 2x2 tables need rewards of 0 and 1; use contrasts instead")
    n, hits = _tables(cells, (cells.index(factor, a), cells.index(factor, b)), factor, measure)
    shared = (n[0] > 0) & (n[1] > 0)
    if not shared.any():
        raise SampleTooSmall(f"no task and entry was run at both {a} and {b}; nothing to compare")
    task = np.nonzero(shared)[0]
    return Pairs(hits[0][shared], n[0][shared], hits[1][shared], n[1][shared], task)


def _tables(
    cells: Cells, levels: tuple[int, int], factor: str, measure: Measure
) -> tuple[Ints, Ints]:
    """Trials and hits, shape (2, tasks, entries)."""
    kept = np.isin(cells.codes[factor], levels)
    second = (cells.codes[factor][kept] == levels[1]).astype(np.int64)
    sizes = [2, *(len(cells.levels[name]) for name in STRATUM)]
    codes = [second, *(cells.codes[name][kept] for name in STRATUM)]
    key, slots = mixed_radix(codes, sizes, second.size)
    n = cells.n - cells.infra if measure == "excluded" else cells.n
    hits = cells.infra if measure == "infra" else cells.passed
    summed = (np.bincount(key, weights=c[kept], minlength=slots) for c in (n, hits))
    trials, hit = (column.astype(np.int64).reshape(sizes) for column in summed)
    return trials, hit
