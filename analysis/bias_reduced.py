"""CR2: cluster scores adjusted for their own leverage, with Satterthwaite's degrees of freedom.

Let `Q_g` be the rows of `[X~ R, S N_s^(-1/2)]` of the trials of cluster g, where `R R'` is the
bread and S the stratum indicators. Then `H_gg = Q_g Q_g'`, and since
`(I - QQ')^(-1/2) Q = Q U (1 - L)^(-1/2) U'` with `Q'Q = U L U'`, everything happens in the small
space of `Q_g'Q_g`, whatever the number of trials. Strata that lie in one cluster as a whole have
no part in it, because residuals and X~ sum to 0 within them.
"""

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints
from .fit import Fit

SATURATED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class BiasReduced:
    """Covariance of the effects, shape (p, p), and degrees of freedom of each, shape (p,)."""

    covariance: Floats
    df: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """One cluster in the small space of r = p + (split strata) dimensions.

    Args:
        inner: Q'Q, shape (r, r). residual: Q'e, shape (r,). strata: of the last r - p dimensions.
    """

    inner: Floats
    residual: Floats
    strata: Ints


def bias_reduced(fit: Fit, member: Ints, count: int) -> BiasReduced:
    """CR2 covariance; the degrees of freedom take trials as independent with one variance.

    Args:
        member: cluster of each cell, 0..count-1, shape (C,).
    Source: Bell & McCaffrey (2002), Survey Methodology 28:169-181; Pustejovsky & Tipton (2018),
        J Bus Econ Stat 36:672-683; as R's clubSandwich::vcovCR(type = "CR2").
    """
    p = fit.effects.size
    root = np.linalg.cholesky(fit.bread)
    scores, own = np.zeros((count, p)), np.zeros((count, p))
    shared = np.zeros((count, p, p + fit.design.stratum_n.size))
    for g in range(count):
        cluster = _cluster(fit, member == g, root)
        values, vectors = np.linalg.eigh(cluster.inner)
        # A direction with leverage 1 leaves no residual: it is left out, as a pseudo-inverse does.
        free = np.where(values < 1.0 - SATURATED, 1.0 - values, np.inf)
        here = root @ vectors[:p]
        scores[g] = vectors[:p] @ ((vectors.T @ cluster.residual) / np.sqrt(free))
        own[g] = (here**2) @ (values / free)
        leverage = (here * (values / np.sqrt(free))) @ vectors.T
        shared[g][:, :p] = leverage[:, :p]
        shared[g][:, p + cluster.strata] = leverage[:, p:]
    # u_g = R^-T (adjusted part), so the bread on both sides leaves R alone.
    covariance = root @ (scores.T @ scores) @ root.T
    return BiasReduced(covariance, _satterthwaite(own, shared))


def _cluster(fit: Fit, here: Bools, root: Floats) -> _Cluster:
    design = fit.design
    z, n = design.centred[:, here], design.cells.n[here].astype(np.float64)
    weighted = n * fit.residual[here]
    present, local = np.unique(design.stratum[here], return_inverse=True)
    local = local.reshape(-1)
    inside = np.bincount(local, weights=n)
    split = inside < design.stratum_n[present]
    scale = 1.0 / np.sqrt(design.stratum_n[present[split]])
    size = present.size
    sums = np.array([np.bincount(local, weights=row * n, minlength=size)[split] for row in z])
    cross = root.T @ sums.reshape(len(z), -1) * scale
    diagonal = np.diag(inside[split] * scale**2)
    own = root.T @ ((z * n) @ z.T) @ root
    left = np.bincount(local, weights=weighted, minlength=size)[split] * scale
    return _Cluster(
        np.block([[own, cross], [cross.T, diagonal]]),
        np.concatenate([root.T @ (z @ weighted), left]),
        present[split],
    )


def _satterthwaite(own: Floats, shared: Floats) -> Floats:
    """`tr(P)^2 / tr(P^2)` per effect, with `P_gh = (g = h) own_g - shared_g . shared_h`."""
    df = np.empty(own.shape[1])
    for j in range(own.shape[1]):
        inner = np.diag(own[:, j]) - shared[:, j] @ shared[:, j].T
        df[j] = np.trace(inner) ** 2 / np.sum(inner**2)
    return df
