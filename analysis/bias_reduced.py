"""CR2: cluster scores adjusted for their own leverage, with Satterthwaite's degrees of freedom.

Let `Q_g` be the rows of `[X~ R, S N_s^(-1/2)]` of the trials of cluster g, where `R R'` is the
bread and S the stratum indicators. Then `H_gg = Q_g Q_g'`, and since
`(I - QQ')^(-1/2) Q = Q (I - W)^(-1/2)` with `W = Q'Q`, everything happens in the small space of W,
whatever the number of trials. W is diagonal but for the p rows of X~. Strata that lie in one
cluster as a whole have no part in it, because residuals and X~ sum to 0 within them.
"""

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats, Ints
from .fit import Fit
from .grouping import compact
from .inverse_root import inverse_root_times

SATURATED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class BiasReduced:
    """Covariance of the effects, shape (p, p), and degrees of freedom of each, shape (p,)."""

    covariance: Floats
    df: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Cluster:
    """A cluster's W and Q'e, split at its p dense rows; s split strata.

    Args:
        head: shape (p, p). side: (p, s). diagonal: (s,). residual: (p + s,). strata: (s,).
    """

    head: Floats
    side: Floats
    diagonal: Floats
    residual: Floats
    strata: Ints


@dataclass(frozen=True, slots=True, eq=False)
class _Adjusted:
    """Of one cluster, with J = (I - W)^(-1/2) and E the first p directions.

    Args:
        score: E'J Q'e, shape (p,). shared: J W E, shape (p + s, p). own: E'W J^2 E, shape (p, p).
    """

    score: Floats
    shared: Floats
    own: Floats


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
        adjusted = _adjusted(cluster)
        scores[g] = adjusted.score
        own[g] = np.einsum("ji,ik,jk->j", root, adjusted.own, root)
        shared[g][:, :p] = root @ adjusted.shared[:p].T
        shared[g][:, p + cluster.strata] = root @ adjusted.shared[p:].T
    # A score in the space of W is R' times one of the effects, so one R of the bread is left.
    covariance = root @ (scores.T @ scores) @ root.T
    return BiasReduced(covariance, _satterthwaite(own, shared))


def _cluster(fit: Fit, here: Bools, root: Floats) -> _Cluster:
    design = fit.design
    z, n = design.centred[:, here], design.cells.n[here].astype(np.float64)
    weighted = n * fit.residual[here]
    local, size = compact(design.stratum[here])
    present = np.flatnonzero(np.bincount(design.stratum[here]))
    inside = np.bincount(local, weights=n)
    split = inside < design.stratum_n[present]
    scale = 1.0 / np.sqrt(design.stratum_n[present[split]])
    sums = np.array([np.bincount(local, weights=row * n, minlength=size)[split] for row in z])
    left = np.bincount(local, weights=weighted, minlength=size)[split] * scale
    return _Cluster(
        root.T @ ((z * n) @ z.T) @ root,
        root.T @ sums * scale,
        inside[split] * scale**2,
        np.concatenate([root.T @ (z @ weighted), left]),
        present[split],
    )


def _adjusted(cluster: _Cluster) -> _Adjusted:
    p = cluster.head.shape[0]
    dense = np.vstack([cluster.head, cluster.side.T])
    if cluster.diagonal.size == 0:
        return _by_eigenvalues(cluster, dense)
    right = np.column_stack([dense, cluster.residual])
    solved = inverse_root_times(cluster.head, cluster.side, cluster.diagonal, right)
    if solved is None:
        return _by_eigenvalues(cluster, dense)
    # E'W(I - W)^-1 E is the inverse of the Schur complement of the diagonal, less I.
    complement = (
        np.eye(p) - cluster.head - (cluster.side / (1.0 - cluster.diagonal)) @ cluster.side.T
    )
    return _Adjusted(solved[:p, p], solved[:, :p], np.linalg.inv(complement) - np.eye(p))


def _by_eigenvalues(cluster: _Cluster, dense: Floats) -> _Adjusted:
    """The same for any W; a direction with leverage 1 is left out, as a pseudo-inverse does."""
    p = cluster.head.shape[0]
    whole = np.block([[cluster.head, cluster.side], [cluster.side.T, np.diag(cluster.diagonal)]])
    values, vectors = np.linalg.eigh(whole)
    free = np.where(values < 1.0 - SATURATED, 1.0 - values, np.inf)
    root = (vectors / np.sqrt(free)) @ vectors.T
    own = (vectors[:p] * (values / free)) @ vectors[:p].T
    return _Adjusted((root @ cluster.residual)[:p], root @ dense, own)


def _satterthwaite(own: Floats, shared: Floats) -> Floats:
    """`tr(P)^2 / tr(P^2)` per effect, with `P_gh = (g = h) own_g - shared_g . shared_h`.

    0 for an effect on which every cluster that bears on it has leverage 1.
    """
    df = np.zeros(own.shape[1])
    for j in range(own.shape[1]):
        inner = np.diag(own[:, j]) - shared[:, j] @ shared[:, j].T
        squares = float(np.sum(inner**2))
        if squares > SATURATED * own[:, j].max() ** 2:
            df[j] = np.trace(inner) ** 2 / squares
    return df
