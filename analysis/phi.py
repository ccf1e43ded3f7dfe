"""The variance that a factor adds to a score: quadratic forms of its effects, noise subtracted."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ..models.errors import DesignError
from .arrays import Floats
from .fit import Fit
from .intervals import Interval, component, component_p

POINTS = 100.0


@dataclass(frozen=True, slots=True)
class Component:
    """A factor's variance component, on the probability scale.

    Args:
        phi: unbiased, so at times below 0. ci: of phi; None without noise to tell it by.
        p: of no variance at all. sd_points: root of phi in points, 0 where phi is below 0.
    """

    phi: float
    ci: Interval | None
    p: float | None
    sd_points: float

    @classmethod
    def of(cls, phi: float, ci: Interval | None, p: float | None) -> "Component":
        """The component of a phi."""
        return cls(phi, ci, p, POINTS * sqrt(max(phi, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """The form b'Sb of one factor within a fit.

    Args:
        columns: where the factor's effects stand. spread: S over these columns.
    """

    columns: tuple[int, ...]
    spread: Floats

    def of(self, effects: Floats) -> float:
        """Q = b'Sb, uncorrected."""
        b = effects[list(self.columns)]
        return float(b @ self.spread @ b)

    def noise(self, covariance: Floats) -> tuple[float, float]:
        """tr(SV) and tr((SV)^2)."""
        columns = list(self.columns)
        product = self.spread @ covariance[np.ix_(columns, columns)]
        return float(np.trace(product)), float(np.sum(product * product.T))

    def embedded(self, size: int) -> Floats:
        """S in the space of all effects; shape (size, size)."""
        whole = np.zeros((size, size))
        whole[np.ix_(self.columns, self.columns)] = self.spread
        return whole


def quadratic(fit: Fit, factor: str, target: Mapping[str, float] | None = None) -> Quadratic | None:
    """The form of a factor under a target distribution of its levels.

    `S = diag(w) - ww'` over the levels but the reference, whose effect is 0, so that b'Sb is the
    variance of the effect of a level drawn with weights w.

    Args:
        target: level -> weight, normalised here; by default the same for every level that was run.
    Returns: None where an effect of the factor is aliased.
    Raises:
        DesignError: weights below 0, that sum to 0, or of a level that was not run.
    """
    design = fit.design
    if any(column.factor == factor for column in design.aliased):
        return None
    columns = design.of(factor)
    levels = [design.references[factor], *(design.columns[i].level for i in columns)]
    weights = _weights(factor, levels, target)[1:]
    return Quadratic(tuple(columns), np.diag(weights) - np.outer(weights, weights))


def phi(
    form: Quadratic, effects: Floats, covariance: Floats, confidence: float = 0.95
) -> Component:
    """`b'Sb - tr(SV)` with its noncentral chi-square interval.

    Args:
        effects: b of the whole fit. covariance: V of the whole fit, for the target that is meant.
    Source: Kline, Saggio & Solvsten (2020), Econometrica 88:1859-1898; statistics.md 3.4, 3.5.
    """
    plug_in = form.of(effects)
    trace, trace_of_square = form.noise(covariance)
    return Component.of(
        plug_in - trace,
        component(plug_in, trace, trace_of_square, confidence),
        component_p(plug_in, trace, trace_of_square),
    )


def _weights(factor: str, levels: list[str], target: Mapping[str, float] | None) -> Floats:
    if target is None:
        return np.full(len(levels), 1.0 / len(levels))
    if unknown := sorted(set(target) - set(levels)):
        raise DesignError(
            f"target of {factor}: level {unknown[0]!r} was not run; levels: {', '.join(levels)}"
        )
    weights = np.array([target.get(level, 0.0) for level in levels], dtype=np.float64)
    if (weights < 0.0).any() or weights.sum() <= 0.0:
        raise DesignError(f"target of {factor}: weights are 0 or more, and not all 0")
    return weights / weights.sum()
