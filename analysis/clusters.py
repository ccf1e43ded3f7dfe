"""Covariances of effects when trials of a cluster share shocks: CR0, CR1, CR2, and two-way."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats, Ints
from .bias_reduced import bias_reduced
from .fit import Fit
from .grouping import compact

type Correction = Literal["CR0", "CR1", "CR2"]

# Below this many clusters CR1 with t(G-1) rejects too often.
ENOUGH_CLUSTERS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Clustered:
    """Covariance of the effects, shape (p, p), and the degrees of freedom of each, shape (p,)."""

    covariance: Floats
    df: Floats
    clusters: int


def clustered(fit: Fit, cluster: Ints, correction: Correction | None = None) -> Clustered:
    """Cluster-robust covariance of a fit's effects.

    `CR0 = B (sum_g u_g u_g') B` with scores `u_g = X~_g' e_g`; CR1 scales it by
    `G/(G-1) (N-1)/(N-K)`, K counting the strata; both have G - 1 degrees of freedom. CR2 adjusts
    each score by `(I - H_gg)^(-1/2)` and has Satterthwaite's degrees of freedom.

    Args:
        cluster: index of each cell's cluster, shape (C,).
        correction: by default CR1 from 40 clusters on, CR2 below.
    Raises:
        SampleTooSmall: fewer than two clusters.
    Source: Cameron & Miller (2015), J Human Resources 50:317-372; Pustejovsky & Tipton (2018),
        J Bus Econ Stat 36:672-683 (CR2); as R's sandwich::vcovCL and clubSandwich::vcovCR.
    """
    member, count = compact(cluster)
    if count < 2:
        raise SampleTooSmall("all trials share one cluster; errors between clusters need two")
    if correction == "CR2" or (correction is None and count < ENOUGH_CLUSTERS):
        reduced = bias_reduced(fit, member, count)
        return Clustered(reduced.covariance, reduced.df, count)
    scale = 1.0 if correction == "CR0" else _cr1(fit, count)
    scores = cluster_scores(fit, member, count)
    covariance = scale * fit.bread @ (scores.T @ scores) @ fit.bread
    return Clustered(covariance, np.full(len(fit.effects), count - 1.0), count)


def two_way(
    fit: Fit, first: Ints, second: Ints, correction: Literal["CR0", "CR1"] = "CR1"
) -> Clustered:
    """Covariance with shocks shared within either clustering: `V_1 + V_2 - V_12`.

    Each part has its own correction; the degrees of freedom are those of the coarser clustering.
    With few clusters a variance can come out below 0: the eigenvalues below 0 are then set to 0.

    Raises:
        SampleTooSmall: fewer than two clusters either way.
    Source: Cameron, Gelbach & Miller (2011), J Bus Econ Stat 29:238-249.
    """
    both = first * (int(second.max()) + 1) + second
    a, b, ab = (clustered(fit, c, correction) for c in (first, second, both))
    covariance = a.covariance + b.covariance - ab.covariance
    if (np.diag(covariance) <= 0.0).any():
        values, vectors = np.linalg.eigh(covariance)
        covariance = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return Clustered(covariance, np.minimum(a.df, b.df), min(a.clusters, b.clusters))


def cluster_scores(fit: Fit, member: Ints, count: int) -> Floats:
    """u_g = X~_g' N e_g, shape (G, p)."""
    weighted = fit.design.cells.n * fit.residual
    return np.column_stack(
        [np.bincount(member, weights=row * weighted, minlength=count) for row in fit.design.centred]
    )


def _cr1(fit: Fit, count: int) -> float:
    trials, parameters = fit.design.trials, fit.design.parameters
    if trials <= parameters:
        raise SampleTooSmall(f"{trials} trials for {parameters} parameters; run more samples")
    return count / (count - 1) * (trials - 1) / (trials - parameters)
