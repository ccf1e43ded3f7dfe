"""The unit at which a factor was assigned, found in the data where it was not declared."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats, Ints
from .cells import Cells
from .clusters import clustered, two_way
from .effects import Between
from .factor import Factor
from .fit import Fit
from .grouping import compact

FEWEST_WAVES = 8


@dataclass(frozen=True, slots=True)
class Unit:
    """The waves between which a factor is tested.

    Args:
        wave: factor of the cells that names them. waves: how many there are.
        declared: False where it shows only in the data that the factor is constant within them.
    """

    wave: str
    waves: int
    declared: bool

    @property
    def testable(self) -> bool:
        """Fewer than eight waves have too few arrangements for a test at 5 %."""
        return self.waves >= FEWEST_WAVES


def unit_of(factor: Factor, cells: Cells, waves: Iterable[str]) -> Unit | None:
    """The waves of a factor: those declared, or any within which it never changes; None: trials.

    Args:
        waves: factors of the cells that name waves.
    """
    if factor.wave is not None:
        return Unit(factor.wave, _count(cells.codes[factor.wave]), declared=True)
    for wave in waves:
        count = _count(cells.codes[wave])
        # Waves of one trial are no waves: anything is constant within them.
        if (
            wave != factor.name
            and 2 * count <= cells.n.sum()
            and constant(cells, factor.name, wave)
        ):
            return Unit(wave, count, declared=False)
    return None


def constant(cells: Cells, factor: str, wave: str) -> bool:
    """True if no wave has two levels of the factor."""
    both = cells.codes[wave] * len(cells.levels[factor]) + cells.codes[factor]
    return _count(both) == _count(cells.codes[wave])


def between_waves(fit: Fit, factor: str, unit: Unit) -> Between:
    """Covariance between waves; a level is tested by t with the waves of it and of the reference
    less two as degrees of freedom, and not at all where these or all waves are too few.

    Source: statistics.md 4d: trial-level errors reject a true null in 8-12 % of runs, these in 5 %.
    """
    cells = fit.design.cells
    wave, codes = cells.codes[unit.wave], cells.codes[factor]
    df = np.zeros(fit.effects.size)
    reference = cells.index(factor, fit.design.references[factor])
    for i in fit.design.of(factor):
        level = cells.index(factor, fit.design.columns[i].level)
        here = _count(wave[(codes == level) | (codes == reference)])
        df[i] = max(here - 2, 0) if unit.testable else 0
    return Between(clustered(fit, wave).covariance, df, _both_ways(fit, wave))


def _both_ways(fit: Fit, wave: Ints) -> Floats | None:
    """Between waves and tasks; None with one task, or fewer trials than parameters."""
    try:
        return two_way(fit, fit.design.cells.codes["task"], wave).covariance
    except SampleTooSmall:
        return None


def between_tasks(fit: Fit) -> Between:
    """Covariance between tasks, by as many degrees of freedom as `clustered` finds."""
    found = clustered(fit, fit.design.cells.codes["task"])
    return Between(found.covariance, found.df)


def _count(codes: Ints) -> int:
    return compact(codes)[1]
