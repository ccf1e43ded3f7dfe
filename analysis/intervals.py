"""Intervals: of a rate, of an estimate with a standard error, of a variance component."""

from typing import NamedTuple

import numpy as np
from scipy import special

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Floats
from .tails import critical

BOOTSTRAP_DRAWS = 999
FAR_OUT = 1e8


class Interval(NamedTuple):
    """A lower and an upper bound, in the unit of the estimate."""

    lo: float
    hi: float


class Rate(NamedTuple):
    """A rate as a fraction, with its interval."""

    est: float
    lo: float
    hi: float


def wilson(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson score interval of a rate, as fractions.

    Raises:
        SampleTooSmall: trials is 0.
        DesignError: hits outside 0..trials, or confidence outside 0..1.
    Source: Wilson (1927), JASA 22:209-212; Newcombe (1998), Stat Med 17:857-872, method 3.

    >>> low, high = wilson(81, 263)
    >>> print(f"{low:.4f} {high:.4f}")
    0.2553 0.3662
    """
    _check(hits, trials, confidence)
    z = critical(0.5 + confidence / 2)
    p, z2 = hits / trials, z * z
    centre = p + z2 / (2 * trials)
    half = z * float(np.sqrt(p * (1 - p) / trials + z2 / (4 * trials * trials)))
    scale = 1 + z2 / trials
    # At the ends the bound is exactly 0 or 1; rounding must not put it beside.
    lo = 0.0 if hits == 0 else (centre - half) / scale
    return Interval(lo, 1.0 if hits == trials else (centre + half) / scale)


def rate(hits: int, trials: int, confidence: float = 0.95) -> Rate:
    """A rate with its Wilson interval; arguments and errors as `wilson`."""
    lo, hi = wilson(hits, trials, confidence)
    return Rate(hits / trials, lo, hi)


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> Interval:
    """Exact binomial interval of a rate; never narrower than its confidence.

    Raises:
        SampleTooSmall, DesignError: as `wilson`.
    Source: Clopper & Pearson (1934), Biometrika 26:404-413, by quantiles of the beta.
    """
    _check(hits, trials, confidence)
    tail = (1 - confidence) / 2
    lo = special.betaincinv(hits, trials - hits + 1, tail) if hits else 0.0
    hi = special.betaincinv(hits + 1, trials - hits, 1 - tail) if hits < trials else 1.0
    return Interval(float(lo), float(hi))


def around(est: float, se: float, df: float | None = None, confidence: float = 0.95) -> Interval:
    """`est +- quantile * se`, of Student's t with df degrees, or normal where df is None."""
    half = critical(0.5 + confidence / 2, df) * se
    return Interval(est - half, est + half)


def component(
    quadratic: float, trace: float, trace_of_square: float, confidence: float = 0.95
) -> Interval | None:
    """Interval of a variance component phi = b'Sb of effects known with covariance V.

    `Q / lam` is taken as noncentral chi-square with `nu` degrees and noncentrality `phi / lam`,
    where `lam = tr((SV)^2)/tr(SV)` and `nu = tr(SV)^2/tr((SV)^2)`; the bounds invert it.

    Args:
        quadratic: Q = b'Sb of the estimated effects, uncorrected.
        trace: tr(SV). trace_of_square: tr((SV)^2).
    Returns: bounds of phi, each 0 or more; None where the effects have no noise to speak of.
    Source: Satterthwaite (1946), Biometrics 2:110-114, for lam and nu; statistics.md 3.5.
    """
    if trace <= 0.0 or trace_of_square <= 0.0:
        return None
    scale = trace_of_square / trace
    x, nu, tail = quadratic / scale, trace / scale, (1 - confidence) / 2
    return Interval(
        scale * noncentrality(x, nu, 1 - tail),
        scale * noncentrality(x, nu, tail),
    )


def component_p(quadratic: float, trace: float, trace_of_square: float) -> float | None:
    """p-value of no variance at all: the upper tail of Q / lam at noncentrality 0."""
    if trace <= 0.0 or trace_of_square <= 0.0:
        return None
    scale = trace_of_square / trace
    return float(special.chdtrc(trace / scale, quadratic / scale))


def noncentrality(x: float, nu: float, probability: float) -> float:
    """The noncentrality at which chi-square(nu) lies below x with `probability`; 0 if none does."""
    if special.chdtr(nu, x) <= probability:
        return 0.0
    if x > FAR_OUT:  # sqrt(X) is normal with variance 1 there, up to terms of 1/sqrt(x)
        return float((np.sqrt(x) - critical(probability)) ** 2 - (nu - 1))
    return float(special.chndtrinc(x, nu, probability))


def task_weights(tasks: int, draws: int = BOOTSTRAP_DRAWS, seed: int = 0) -> Floats:
    """How often each task is drawn in each bootstrap sample of tasks; shape (draws, tasks).

    Raises:
        SampleTooSmall: fewer than two tasks, of which no resampling tells anything.
    """
    if tasks < 2:
        raise SampleTooSmall("a bootstrap over tasks needs two tasks or more")
    drawn = np.random.default_rng(seed).integers(0, tasks, size=(draws, tasks))
    drawn += tasks * np.arange(draws)[:, None]
    counts = np.bincount(drawn.reshape(-1), minlength=draws * tasks)
    return counts.reshape(draws, tasks).astype(np.float64)


def percentile(draws: Floats, confidence: float = 0.95) -> Interval:
    """The middle `confidence` of bootstrap draws (linear interpolation, R's type 7)."""
    tail = (1 - confidence) / 2
    lo, hi = np.quantile(draws, [tail, 1 - tail])
    return Interval(float(lo), float(hi))


def _check(hits: int, trials: int, confidence: float) -> None:
    if trials < 1:
        raise SampleTooSmall("no trials: a rate needs one trial or more")
    if not 0 <= hits <= trials:
        raise DesignError(f"{hits} hits of {trials} trials: hits must lie in 0..trials")
    if not 0.0 < confidence < 1.0:
        raise DesignError(f"confidence {confidence}: must lie strictly between 0 and 1")
