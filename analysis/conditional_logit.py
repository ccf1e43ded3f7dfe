"""Conditional logistic regression: odds ratios of a factor's levels, strata conditioned away.

Given how many trials of a stratum passed, the passes at each level are noncentral hypergeometric
with weights `prod C(n_l, k_l) exp(beta_l k_l)`; the strata's own rates cancel. Unlike a logistic
model with one intercept per stratum, its odds ratios are not inflated where strata are small.

Source: Breslow & Day (1980), Statistical Methods in Cancer Research I, chapter 7; as R's
survival::clogit(method = "exact").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from scipy import special

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Floats, Ints
from .cells import Cells
from .strata import strata_by_level
from .tails import chi2_above, two_sided

STEPS = 50
TOLERANCE = 1e-11
ENDLESS = 25.0  # log odds; no counts of a benchmark are that far apart


@dataclass(frozen=True, slots=True)
class LogOdds:
    """Log odds ratio of a level against the reference, its standard error and its Wald p."""

    level: str
    log_odds: float
    se: float
    p: float | None
    odds_ratio: float


@dataclass(frozen=True, slots=True)
class ConditionalLogit:
    """All levels against `vs`, fitted together.

    Args:
        p: of no difference between any levels, by likelihood ratio.
        informative_strata: those with a pass and a failure; the others say nothing.
    """

    vs: str
    levels: tuple[LogOdds, ...]
    p: float
    informative_strata: int


def conditional_logit(
    cells: Cells,
    reference: str | None = None,
    *,
    factor: str = "band",
    levels: Sequence[str] | None = None,
) -> ConditionalLogit:
    """Fit the factor's levels within task x entry strata; infra errors count as failures.

    Args:
        reference: the level that others are compared with; the first with trials by default.
        levels: the levels to fit, the reference among them; by default all that were run.
    Raises:
        DesignError: fractional rewards, no such factor or level.
        SampleTooSmall: fewer than two levels, no stratum with a pass and a failure, or passes that
            leave an odds ratio endless.
    """
    if cells.fractional:
        raise DesignError("odds need rewards of 0 and 1; use contrasts instead")
    merged = cells.by(factor, "task", "entry")
    tables = {name: t for name, t in strata_by_level(merged, factor).items() if t.run.any()}
    chosen = list(tables) if levels is None else [*levels]
    for name in [*chosen, *([] if reference is None else [reference])]:
        merged.index(factor, name)
    floor = reference if reference is not None else next(iter(chosen), "")
    names = [floor, *(name for name in chosen if name != floor)]
    if len(names) < 2 or any(name not in tables for name in names):
        raise SampleTooSmall(f"an odds ratio needs trials at two levels of {factor}")
    n = np.stack([tables[name].n.reshape(-1) for name in names], axis=1)
    hits = np.rint(n * np.stack([tables[name].mean.reshape(-1) for name in names], axis=1))
    total = hits.sum(axis=1)
    kept = (total > 0) & (total < n.sum(axis=1)) & (np.count_nonzero(n, axis=1) > 1)
    if not kept.any():
        raise SampleTooSmall("no stratum has a pass and a failure at two levels; no odds to tell")
    return _fitted(names, _Strata.of(n[kept], hits[kept].astype(np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class _Strata:
    """S strata by L levels; `log_choose` has shape (L, S, J + 1), -inf beyond a stratum's n.

    It is tilted by each stratum's own odds, which cancel, so that nothing underflows.
    """

    hits: Ints
    total: Ints
    log_choose: Floats

    @classmethod
    def of(cls, n: Ints, hits: Ints) -> "_Strata":
        total = hits.sum(axis=1)
        k = np.arange(n.max() + 1)
        tilt = np.log(total / (n.sum(axis=1) - total))
        rest = np.maximum(n.T[:, :, None] - k, 0)
        log = (
            special.gammaln(n.T[:, :, None] + 1.0)
            - special.gammaln(k + 1.0)
            - special.gammaln(rest + 1.0)
            + tilt[None, :, None] * k
        )
        return cls(hits, total, np.where(k <= n.T[:, :, None], log, -np.inf))


def _fitted(names: Sequence[str], strata: _Strata) -> ConditionalLogit:
    beta = np.zeros(len(names) - 1)
    value, score, information = null, *_ = _likelihood(strata, beta)
    for _ in range(STEPS):
        step = _solved(information, score, names)
        tried = _likelihood(strata, beta + step)
        while not tried[0] >= value - TOLERANCE * abs(value):
            step = step / 2
            tried = _likelihood(strata, beta + step)
        beta, (value, score, information) = beta + step, tried
        if np.abs(beta).max() > ENDLESS:
            break
        if np.abs(step).max() < TOLERANCE:
            return _described(names, beta, information, value - null, strata)
    raise SampleTooSmall("the passes leave an odds ratio endless; run more samples")


def _solved(information: Floats, score: Floats, names: Sequence[str]) -> Floats:
    scale = np.diag(information)
    if not (scale > 1e-12).all() or np.linalg.cond(information) > 1e12:
        raise SampleTooSmall(
            f"some of {', '.join(names)} share no stratum with a pass and a failure; no odds ratio"
        )
    return np.asarray(np.linalg.solve(information, score), dtype=np.float64)


def _described(
    names: Sequence[str], beta: Floats, information: Floats, gain: float, strata: _Strata
) -> ConditionalLogit:
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    rows = tuple(
        LogOdds(name, float(b), float(se), two_sided(float(b), float(se)), exp(b))
        for name, b, se in zip(names[1:], beta, errors, strict=True)
    )
    p = chi2_above(max(0.0, 2 * gain), beta.size)
    return ConditionalLogit(names[0], rows, p, strata.total.size)


def _likelihood(strata: _Strata, beta: Floats) -> tuple[float, Floats, Floats]:
    """Log-likelihood, its gradient, and its information, shapes (), (L - 1,), (L - 1, L - 1)."""
    log_odds = np.concatenate([[0.0], beta])
    k = np.arange(strata.log_choose.shape[2], dtype=np.float64)
    log = strata.log_choose + log_odds[:, None, None] * k
    top = log.max(axis=2, keepdims=True)
    weights = np.exp(log - top)
    levels = range(weights.shape[0])
    others = {b: _product([weights[c] for c in levels if c != b]) for b in levels}
    mass = _at(weights[0], others[0], strata.total)
    moments = {b: weights[b] * k for b in levels}
    means = np.stack([_at(moments[b], others[b], strata.total) / mass for b in levels[1:]])
    seconds = np.empty((beta.size, beta.size))
    for b in levels[1:]:
        for c in range(1, b + 1):
            rest = [weights[d] for d in levels if d not in (b, c)]
            two = moments[b] * k if b == c else _times(moments[b], moments[c])
            found = _at(two, _product(rest), strata.total) / mass - means[b - 1] * means[c - 1]
            seconds[b - 1, c - 1] = seconds[c - 1, b - 1] = found.sum()
    shifted = np.log(mass) + top[:, :, 0].sum(axis=0)
    value = float(strata.hits.sum(axis=0) @ log_odds - shifted.sum())
    return value, strata.hits[:, 1:].sum(axis=0) - means.sum(axis=1), seconds


def _product(polynomials: Sequence[Floats]) -> Floats:
    """Products by stratum of polynomials in the count of passes, of shape (S, degree + 1)."""
    found = polynomials[0]
    for factor in polynomials[1:]:
        found = _times(found, factor)
    return found


def _times(a: Floats, b: Floats) -> Floats:
    product = np.zeros((a.shape[0], a.shape[1] + b.shape[1] - 1))
    for j in range(b.shape[1]):
        product[:, j : j + a.shape[1]] += a * b[:, j : j + 1]
    return product


def _at(a: Floats, b: Floats, total: Ints) -> Floats:
    """The coefficient of each stratum's total in a product of two polynomials; shape (S,)."""
    place = total[:, None] - np.arange(a.shape[1])
    inside = (place >= 0) & (place < b.shape[1])
    taken = np.take_along_axis(b, np.where(inside, place, 0), axis=1)
    return np.asarray(np.sum(np.where(inside, a * taken, 0.0), axis=1), dtype=np.float64)
