"""O'Brien-Fleming bounds: a fixed number of looks, declared before the run.

Where the looks are declared, they cost less than the anytime-valid monitor: the bound is
`C / sqrt(fraction)` on |z|, and C comes from the exact distribution of the largest of the looks.

Source: O'Brien & Fleming (1979), Biometrics 35:549-556; recursion of Armitage, McPherson & Rowe
(1969), JRSS A 132:235-244; table 2.3 of Jennison & Turnbull (2000), Group Sequential Methods.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq

from ..models.errors import DesignError
from .arrays import Floats
from .tails import below, critical


@dataclass(frozen=True, slots=True)
class Look:
    """One declared look: stop for a difference when |z| reaches `z`.

    `fraction` is the share of the planned trials seen by then, `p` the two-sided p equal to `z`.
    """

    number: int
    fraction: float
    z: float
    p: float

    def stops(self, est: float, se: float) -> bool:
        """True when this look's estimate (fraction) and standard error cross the bound."""
        if not se > 0.0:
            raise DesignError("a look needs a standard error above 0; wait for more trials")
        return abs(est) >= self.z * se


def obrien_fleming_constant(
    looks: int, alpha: float = 0.05, fractions: Sequence[float] | None = None
) -> float:
    """The constant C: two-sided size alpha when every look rejects at `C / sqrt(fraction)`.

    Args:
        looks: number of looks, 1 or more.
        fractions: share of the trials at each look, increasing to 1; equally spaced by default.
    Raises: DesignError: looks below 1, alpha outside 0..1, fractions that do not increase to 1.

    >>> print(f"{obrien_fleming_constant(5):.3f}")
    2.040
    """
    steps = _steps(looks, fractions)
    if not 0.0 < alpha < 1.0:
        raise DesignError(f"alpha {alpha} must lie inside 0..1")
    # One look is the least C can be; Brownian motion watched all the time crosses within z_{a/4}.
    low, high = critical(1 - alpha / 2), critical(1 - alpha / 4)
    if looks == 1:
        return low
    return _solved(tuple(steps.tolist()), alpha, low, high)


@cache  # a monitor asks for the same bounds after every round
def _solved(steps: tuple[float, ...], alpha: float, low: float, high: float) -> float:
    apart = np.array(steps)
    return float(brentq(lambda c: _stay(c, apart) - (1.0 - alpha), low, high, xtol=1e-12))


def declare_looks(
    looks: int, alpha: float = 0.05, fractions: Sequence[float] | None = None
) -> tuple[Look, ...]:
    """The bounds of all declared looks, first to last; arguments as `obrien_fleming_constant`.

    >>> [round(look.z, 2) for look in declare_looks(4)]
    [4.05, 2.86, 2.34, 2.02]
    """
    constant = obrien_fleming_constant(looks, alpha, fractions)
    seen = np.cumsum(_steps(looks, fractions))
    bounds = constant / np.sqrt(seen)
    return tuple(Look(k + 1, float(seen[k]), float(z), 2 * below(-z)) for k, z in enumerate(bounds))


def _steps(looks: int, fractions: Sequence[float] | None) -> Floats:
    """Share of the trials between two looks, `(looks,)`."""
    if looks < 1:
        raise DesignError(f"{looks} looks: declare 1 or more")
    if fractions is None:
        return np.full(looks, 1.0 / looks)
    steps = np.diff(np.asarray(fractions, float), prepend=0.0)
    if steps.size != looks or np.any(steps <= 0.0) or not math.isclose(float(steps.sum()), 1.0):
        raise DesignError(f"{fractions}: need {looks} increasing fractions that end at 1")
    return steps


def _stay(bound: float, steps: Floats) -> float:
    """P(|B(t_k)| < bound at every look) for Brownian motion B, by recursive integration.

    Gauss-Legendre nodes lie a fraction of the smallest step's SD apart, where the rule is exact to
    rounding for the smooth densities at hand.
    """
    count = 48 + math.ceil(10.0 * bound / math.sqrt(float(steps.min())))
    nodes, weights = np.polynomial.legendre.leggauss(count)
    x, w = bound * nodes, bound * weights
    density = _normal(x, steps[0])
    gaps = x[:, None] - x[None, :]
    for step in steps[1:]:
        density = _normal(gaps, step) @ (w * density)
    return float(w @ density)


def _normal(x: Floats, variance: float) -> Floats:
    density: Floats = np.exp(-(x**2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)
    return density
