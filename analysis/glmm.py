"""The cross-check on the logit scale: a random-intercept logistic mixed model.

    logit P(pass) = band + entry + sd_task u_task,    u_task ~ N(0, 1)

fitted to (task, entry, band) counts by maximum likelihood with 15-point adaptive Gauss-Hermite
quadrature. Its effects live on the latent scale; `pa_means` brings them back to fractions. It is
not the primary method: it is slow, and says nothing that a contrast does not.

Source: the model of lme4's `glmer(..., nAGQ=)`, Bates et al. (2015), J Stat Softw 67(1).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit

from ..models.errors import SampleTooSmall
from .agq import Grouped, Likelihood, likelihood
from .arrays import Floats
from .cells import STRATUM, Cells
from .tails import two_sided

NODES = 15
FINE = 3  # the last steps use this many times the nodes: errors of the integral end below 1e-6
FITTING_STEPS = 100
RUNAWAY_LOGIT = 25.0  # a rate of 1e-11: the maximum lies at infinity
_X, _WEIGHTS = np.polynomial.hermite.hermgauss(101)
_U, _W = np.sqrt(2.0) * _X, _WEIGHTS / np.sqrt(np.pi)  # E f(u) = f(_U) @ _W for u ~ N(0, 1)


@dataclass(frozen=True, slots=True)
class PaLift:
    """Population-averaged lift of a band over the reference: fractions, delta-method error."""

    est: float
    se: float
    p: float | None


@dataclass(frozen=True, slots=True)
class Glmm:
    """A fitted model.

    `fixed` and `se` are logits by term: "(intercept)" (reference band, first entry), then
    "band:<level>" and "entry:<level>". `sd_task` is the SD of the intercepts in logits, 0 at the
    boundary. `pa_means` are pass rates per band, averaged over tasks and entries; `pa_lift` their
    differences from the reference. `icc_latent` and `icc_data` are the intercepts' share of the
    variance on the two scales, which must never be compared with each other. `log_likelihood`
    leaves binomial coefficients out.
    """

    fixed: Mapping[str, float]
    se: Mapping[str, float]
    sd_task: float
    pa_means: Mapping[str, float]
    pa_lift: Mapping[str, PaLift]
    icc_latent: float
    icc_data: float
    log_likelihood: float
    intercepts: Literal["task", "stratum"]


def fit_glmm(
    cells: Cells,
    *,
    reference: str | None = None,
    intercepts: Literal["task", "stratum"] = "task",
    nodes: int = NODES,
) -> Glmm:
    """Fit band and entry effects with a random intercept per task, or per stratum.

    Args:
        cells: counts by task, entry, band and perhaps more; merged to those three first. Infra
            errors count as failures.
        reference: the band that the others are compared with; the first by default.
        intercepts: "task", or "stratum" for one per task x entry (entry effects then drop out).
    Raises:
        SampleTooSmall: no trial, one task, or a band or entry in which every trial passed or every
            trial failed: its logit is infinite.
        DesignError: cells without task, entry or band, or no such reference.
    """
    counts = cells.by(*STRATUM, "band")
    counts.require_trials()
    terms, design = _design(counts, reference, with_entries=intercepts == "task")
    group, groups = counts.strata("task") if intercepts == "task" else counts.strata()
    if groups < 2:
        raise SampleTooSmall("a random intercept needs 2 or more tasks; compare bands directly")
    order = np.argsort(group, kind="stable")
    data = Grouped(
        group[order],
        design[order],
        counts.n[order].astype(np.float64),
        counts.passed[order].astype(np.float64),
    )
    parameters, at = _climb(data, nodes)
    return _described(counts, terms, parameters, at, intercepts)


def population_mean(logit: float | Floats, sd: float) -> Floats:
    """`E[expit(logit + sd u)]` over u ~ N(0, 1), by 101-point Gauss-Hermite; logit's shape."""
    return np.asarray(expit(np.asarray(logit)[..., None] + sd * _U) @ _W)


def data_scale_icc(logit: float, sd: float) -> float:
    """Share of a trial's variance that is its group: `Var E[p|u] / (mu (1 - mu))`, in 0..1.

    Source: de Villemereuil et al. (2016), Genetics 204:1281-1294 (QGglmm's `QGicc`).

    >>> print(f"{data_scale_icc(0.0, 1.0):.3f}")
    0.174
    """
    rates = expit(logit + sd * _U)
    mean = float(rates @ _W)
    return float((rates - mean) ** 2 @ _W) / (mean * (1.0 - mean))


def latent_icc(sd: float) -> float:
    """`sd^2 / (sd^2 + pi^2/3)`: the same share on the logit scale (Nakagawa et al. 2017)."""
    return sd**2 / (sd**2 + np.pi**2 / 3)


def _design(
    cells: Cells, reference: str | None, *, with_entries: bool
) -> tuple[tuple[str, ...], Floats]:
    """Names and columns of the fixed effects; levels without trials have none."""
    columns, terms = [np.ones(len(cells))], ["(intercept)"]
    for factor in ("band", "entry") if with_entries else ("band",):
        codes = cells.codes[factor]
        used = [int(code) for code in np.unique(codes)]
        first = cells.index("band", reference) if factor == "band" and reference else used[0]
        for code in used:
            _check_spread(cells, factor, code)
            if code != first:
                terms.append(f"{factor}:{cells.levels[factor][code]}")
                columns.append((codes == code).astype(np.float64))
    return tuple(terms), np.column_stack(columns)


def _check_spread(cells: Cells, factor: str, code: int) -> None:
    here = cells.codes[factor] == code
    passed, n = int(cells.passed[here].sum()), int(cells.n[here].sum())
    if passed in (0, n):
        raise SampleTooSmall(
            f"{factor} {cells.levels[factor][code]}: {passed} of {n} trials passed, its logit is "
            "infinite; leave it out of the mixed model or run more trials"
        )


def _climb(data: Grouped, nodes: int) -> tuple[Floats, Likelihood]:
    """Newton's method, coarse then fine; the maximum and the likelihood there."""
    parameters = np.append(np.zeros(data.design.shape[1]), 1.0)
    for count in (nodes, FINE * nodes):
        parameters, at = _newton(data, parameters, count)
    parameters[-1] = abs(parameters[-1])  # the likelihood does not know the sign
    return parameters, at


def _newton(data: Grouped, parameters: Floats, nodes: int) -> tuple[Floats, Likelihood]:
    at = likelihood(data, parameters, nodes)
    for _ in range(FITTING_STEPS):
        step = _ascent(at)
        if np.abs(step).max() < 1e-9:
            return parameters, at
        scale, ahead = 1.0, likelihood(data, parameters + step, nodes)
        while ahead.value < at.value - 1e-7 and scale > 1e-6:
            scale /= 2
            ahead = likelihood(data, parameters + scale * step, nodes)
        parameters, at = parameters + scale * step, ahead
        if np.abs(parameters).max() > RUNAWAY_LOGIT:
            break
    raise SampleTooSmall(
        "the mixed model has no finite maximum: some band or entry is all passes or all failures "
        "within tasks; run more trials or leave the model out"
    )


def _ascent(at: Likelihood) -> Floats:
    """Newton's step where the surface is concave, else along its gradient's steep directions."""
    values, vectors = np.linalg.eigh(at.information)
    safe = np.maximum(np.abs(values), 1e-8 * np.abs(values).max())
    step: Floats = vectors @ ((vectors.T @ at.score) / safe)
    return step / max(1.0, float(np.abs(step).max()) / 3.0)


def _described(
    cells: Cells,
    terms: tuple[str, ...],
    parameters: Floats,
    at: Likelihood,
    intercepts: Literal["task", "stratum"],
) -> Glmm:
    covariance, sd = np.linalg.inv(at.information), float(parameters[-1])
    errors = np.sqrt(np.diag(covariance))
    means, gradients = _averaged(cells, terms, parameters)
    first = next(band for band in means if f"band:{band}" not in terms)
    lifts = {
        band: _lift(means[band] - means[first], gradients[band] - gradients[first], covariance)
        for band in means
        if band != first
    }
    return Glmm(
        fixed=dict(zip(terms, parameters[:-1].tolist(), strict=True)),
        se=dict(zip(terms, errors[:-1].tolist(), strict=True)),
        sd_task=sd,
        pa_means=means,
        pa_lift=lifts,
        icc_latent=latent_icc(sd),
        icc_data=data_scale_icc(float(parameters[0]), sd),
        log_likelihood=at.value,
        intercepts=intercepts,
    )


def _averaged(
    cells: Cells, terms: tuple[str, ...], parameters: Floats
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Mean rate of every band over entries (equal weights) and tasks, with its gradient."""
    entries = [k for k, term in enumerate(terms) if term.startswith("entry:")]
    profiles = np.zeros((len(entries) + 1, len(terms)))
    profiles[:, 0] = 1.0
    profiles[np.arange(1, len(entries) + 1), entries] = 1.0
    means, gradients = {}, {}
    for code in np.unique(cells.codes["band"]):
        band = cells.levels["band"][code]
        rows = profiles.copy()
        if f"band:{band}" in terms:
            rows[:, terms.index(f"band:{band}")] = 1.0
        rates = expit((rows @ parameters[:-1])[:, None] + parameters[-1] * _U)
        slopes = rates * (1.0 - rates) * _W
        means[band] = float(np.mean(rates @ _W))
        by_sd = float(np.mean(slopes @ _U))
        gradients[band] = np.append(rows.T @ slopes.sum(axis=1) / len(rows), by_sd)
    return means, gradients


def _lift(est: float, gradient: Floats, covariance: Floats) -> PaLift:
    se = float(np.sqrt(gradient @ covariance @ gradient))
    return PaLift(est, se, two_sided(est, se))
