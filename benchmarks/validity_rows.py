"""Rows of the validity table: what was measured, how well, and what was wanted."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

COVERAGE = (0.93, 0.97)  # of an interval that is printed as 95 %
AT_LEAST = (0.93, 1.0)  # where the definition promises 95 % or more
SIZE = (0.03, 0.07)  # of a test at 5 %
AT_MOST = (0.0, 0.06)  # where the definition promises 5 % or less
BIAS_POINTS = (-0.25, 0.25)
Z95 = 1.959964
SLACK = 2.5  # Monte Carlo errors by which a row may miss what is wanted


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number. `wanted` is None for what is shown for comparison only.

    Args:
        measure: "bias (points)", "coverage", "size", "power", "rate".
        error: Monte Carlo standard error of `value`.
    """

    study: str
    quantity: str
    method: str
    measure: str
    value: float
    error: float
    wanted: tuple[float, float] | None
    replications: int

    @property
    def ok(self) -> bool:
        """True if the value lies within what is wanted, up to Monte Carlo error."""
        if self.wanted is None:
            return True
        low, high = self.wanted
        return low - SLACK * self.error <= self.value <= high + SLACK * self.error


def share(
    study: str,
    quantity: str,
    method: str,
    measure: str,
    hits: Iterable[bool],
    wanted: tuple[float, float] | None,
) -> Row:
    """A row that is a share of replications; its error is never taken as 0."""
    seen = [bool(hit) for hit in hits]
    value = float(np.mean(seen))
    smoothed = (sum(seen) + 1) / (len(seen) + 2)
    error = float(np.sqrt(smoothed * (1 - smoothed) / len(seen)))
    return Row(study, quantity, method, measure, value, error, wanted, len(seen))


def bias(
    study: str,
    quantity: str,
    method: str,
    estimates: Sequence[float],
    truth: float | Sequence[float],
    wanted: tuple[float, float] | None = BIAS_POINTS,
    scale: float = 100.0,
    measure: str = "bias (points)",
) -> Row:
    """Mean of estimate less truth, in points unless scaled otherwise."""
    missed = scale * (np.asarray(estimates) - np.asarray(truth))
    error = float(missed.std(ddof=1) / np.sqrt(missed.size))
    return Row(study, quantity, method, measure, float(missed.mean()), error, wanted, missed.size)


def covers(interval: tuple[float, float] | None, truth: float) -> bool:
    """True if an interval was given and holds the truth."""
    return interval is not None and interval[0] <= truth <= interval[1]


def finds(p: float | None, alpha: float = 0.05) -> bool:
    """True if a p-value was given and lies below alpha."""
    return p is not None and p < alpha
