"""Least squares in an absorbed design, with the noise of each trial estimated from its cell."""

from dataclasses import dataclass

import numpy as np

from .absorbed import Design, weighted_gram
from .arrays import Floats

FULL_LEVERAGE = 1e-9
ROUNDING = 1e-12  # fractions; what an all-passed cell may show by rounding


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Effects of a design's columns on the reward, as fractions; p columns, C cells.

    Args:
        effects: b, shape (p,). bread: (X~'NX~)^-1, shape (p, p).
        residual: cell mean less its fit, shape (C,).
        trial_noise: variance of one trial of the cell, HC2, shape (C,).
        meat: X~' diag(n trial_noise) X~, shape (p, p).
        same: covariance of the effects by the noise within cells (HC2), shape (p, p).
    """

    design: Design
    effects: Floats
    bread: Floats
    residual: Floats
    trial_noise: Floats
    meat: Floats
    same: Floats


def fit(design: Design) -> Fit:
    """Effects `(X~'NX~)^-1 X~'Ny` with heteroscedasticity-consistent (HC2) covariance.

    A trial of cell c has noise `(p(1-p) + e_c^2)/(1 - h_c)` with residual `e_c` and leverage
    `h_c = x~'(X~'NX~)^-1 x~ + 1/N_s`: its squared residuals, averaged over the cell's trials.

    Source: MacKinnon & White (1985), J Econometrics 29:305-325; as R's vcovHC(type = "HC2").
    """
    cells, z = design.cells, design.centred
    n = cells.n.astype(np.float64)
    bread = np.linalg.inv(design.gram)
    mean = cells.rate()
    stratum_mean = np.bincount(design.stratum, weights=n * mean) / design.stratum_n
    # From the stratum's mean, so that strata whose trials all ended alike add exactly nothing.
    centred = mean - stratum_mean[design.stratum]
    effects: Floats = bread @ (z @ (n * centred))
    effects[np.abs(effects) < ROUNDING] = 0.0
    residual: Floats = centred - effects @ z
    residual[np.abs(residual) < ROUNDING] = 0.0
    spread = cells.reward_sumsq / n - mean * mean
    spread[spread < ROUNDING] = 0.0
    leverage = np.einsum("pc,pc->c", bread @ z, z) + 1.0 / design.stratum_n[design.stratum]
    noise = _trial_noise(spread + residual * residual, leverage)
    meat = weighted_gram(z, n * noise)
    return Fit(design, effects, bread, residual, noise, meat, bread @ meat @ bread)


def _trial_noise(squares: Floats, leverage: Floats) -> Floats:
    """HC2 noise; a trial that fits itself alone has none, and takes the mean of the others."""
    free = 1.0 - leverage
    alone = free < FULL_LEVERAGE
    noise = np.divide(squares, free, out=np.zeros(squares.shape), where=~alone)
    if alone.any() and not alone.all():
        noise[alone] = noise[~alone].mean()
    return noise
