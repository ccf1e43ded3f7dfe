"""How much of the explained variance each factor gets: alone, last, and averaged over orders.

A description of this data set, not of the factors: where they are confounded the three differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from ..models.errors import DesignError
from .fit import Fit

MOST_FACTORS = 12
CONFOUNDED_ABOVE = 0.25


@dataclass(frozen=True, slots=True)
class Share:
    """Explained variance per trial within strata, noise subtracted; each may be below 0.

    Args:
        alone: of the factor by itself. unique: of the factor after all others.
        lmg: mean over all orders of entry; over factors they sum to the variance of all.
    """

    alone: float
    unique: float
    lmg: float

    @property
    def confounded(self) -> bool:
        """True if alone and unique differ by more than a quarter of the larger."""
        larger = max(self.alone, self.unique)
        return larger > 0.0 and abs(self.alone - self.unique) > CONFOUNDED_ABOVE * larger


def shapley(fit: Fit, factors: Sequence[str], *, corrected: bool = True) -> dict[str, Share]:
    """Shares by factor, of a fit that has these factors.

    The worth of a set S of factors is `[r_S'G_S^-1 r_S - tr(G_S^-1 A_S)]/N`, with G the Gram
    matrix, `r = X~'Ny` and A the meat: explained variance less what noise alone explains.

    Args:
        corrected: False leaves the noise in, as plug-in shares do.
    Raises:
        DesignError: more factors than orders can be summed over.
    Source: Lindeman, Merenda & Gold (1980); Gromping (2006), J Stat Softw 17(1), as R's relaimpo,
        whose shares are the same without the noise subtracted.
    """
    if len(factors) > MOST_FACTORS:
        raise DesignError(f"{len(factors)} factors: shares are summed for {MOST_FACTORS} at most")
    members = range(len(factors))
    worth = {
        subset: _worth(fit, [factors[i] for i in subset], corrected)
        for size in range(len(factors) + 1)
        for subset in combinations(members, size)
    }
    return {factor: _share(worth, i, len(factors)) for i, factor in enumerate(factors)}


def _worth(fit: Fit, factors: Sequence[str], corrected: bool) -> float:
    columns = [i for factor in factors for i in fit.design.of(factor)]
    if not columns:
        return 0.0
    gram = fit.design.gram
    moment = (gram @ fit.effects)[columns]  # X~'Ny, by the normal equations
    inverse = np.linalg.inv(gram[np.ix_(columns, columns)])
    noise = float(np.sum(inverse * fit.meat[np.ix_(columns, columns)])) if corrected else 0.0
    return (float(moment @ inverse @ moment) - noise) / fit.design.trials


def _share(worth: dict[tuple[int, ...], float], i: int, count: int) -> Share:
    everyone = tuple(range(count))
    others = tuple(j for j in everyone if j != i)
    lmg = 0.0
    for size in range(count):
        gains = sum(
            worth[tuple(sorted((*subset, i)))] - worth[subset]
            for subset in combinations(others, size)
        )
        lmg += gains / (count * comb(count - 1, size))
    return Share(worth[(i,)], worth[everyone] - worth[others], lmg)
