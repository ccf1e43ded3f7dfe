"""What is known of a number when some outcomes are missing, and nothing is assumed of them.

An infra error has no outcome: the trial might have passed or failed. Counting it as a failure and
leaving it out are both assumptions; the bounds are what is left without any.

Source: Manski (1990), American Economic Review P&P 80:319-323; Imbens & Manski (2004),
Econometrica 72:1845-1857, equation 7.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from ..models.errors import DesignError
from .cells import Cells
from .tails import below, critical


@dataclass(frozen=True, slots=True)
class Bounds:
    """Sharp bounds `lo..hi` of a number in fractions, with their standard errors."""

    lo: float
    hi: float
    se_lo: float
    se_hi: float

    def __post_init__(self) -> None:
        if not (self.lo <= self.hi and self.se_lo >= 0.0 and self.se_hi >= 0.0):
            raise DesignError(
                f"bounds {self.lo}..{self.hi} with errors {self.se_lo}, {self.se_hi}: the upper "
                "bound must not lie below the lower, nor an error below 0"
            )

    def minus(self, other: "Bounds") -> "Bounds":
        """Bounds of a difference of two numbers whose errors are independent."""
        return Bounds(
            self.lo - other.hi,
            self.hi - other.lo,
            (self.se_lo**2 + other.se_hi**2) ** 0.5,
            (self.se_hi**2 + other.se_lo**2) ** 0.5,
        )


def imbens_manski(bounds: Bounds, confidence: float = 0.95) -> tuple[float, float]:
    """Interval that covers the number itself, wherever inside its bounds it lies.

    `[lo - C se_lo, hi + C se_hi]` with C from `Phi(C + (hi - lo)/max(se)) - Phi(-C) = confidence`:
    C falls from 1.96 to 1.645 (at 95 %) as the bounds grow apart. Errors of 0 leave the bounds.

    Returns:  (low, high), fractions, not clipped.

    >>> low, high = imbens_manski(Bounds(0.40, 0.45, 0.02, 0.02))
    >>> print(f"{low:.4f} {high:.4f}")
    0.3671 0.4829
    """
    reach = imbens_manski_constant(bounds, confidence)
    return bounds.lo - reach * bounds.se_lo, bounds.hi + reach * bounds.se_hi


def imbens_manski_constant(bounds: Bounds, confidence: float = 0.95) -> float:
    """The C of `imbens_manski`, between the one- and the two-sided normal quantile."""
    if not 0.0 < confidence < 1.0:
        raise DesignError(f"confidence {confidence} must lie inside 0..1")
    one, two = critical(confidence), critical((1.0 + confidence) / 2.0)
    widest = max(bounds.se_lo, bounds.se_hi)
    apart = (bounds.hi - bounds.lo) / widest if widest > 0.0 else float("inf")
    if apart == 0.0:
        return two

    def surplus(reach: float) -> float:
        return below(reach + apart) - below(-reach) - confidence

    if surplus(one) >= 0.0:  # so far apart that the other side no longer counts
        return one
    return float(brentq(surplus, one, two, xtol=1e-14))


def as_passed(cells: Cells) -> Cells:
    """The same cells as if every infra error had passed: the upper of the two sharp bounds."""
    zeros = np.zeros_like(cells.infra)
    return Cells(
        cells.levels,
        cells.codes,
        cells.n,
        cells.passed + cells.infra,
        zeros,
        cells.reward_sum + cells.infra,
        cells.reward_sumsq + cells.infra,
    )
