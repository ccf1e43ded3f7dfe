"""The marginal likelihood of a random-intercept logistic model, by adaptive Gauss-Hermite.

A cell c of group g passes with probability `expit(x_c' beta + sd u_g)`, `u_g ~ N(0, 1)`. For each
group the integral over u is taken on nodes centred at its mode and scaled by its curvature.
Everything here is a function of counts; a call costs cells x nodes.

Source: Pinheiro & Bates (1995), J Comput Graph Stat 4:12-35; information by Louis (1982), JRSS B
44:226-233.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import expit

from .arrays import Floats, Ints

MODE_STEPS = 100
MODE_TOLERANCE = 1e-11


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Binomial counts whose cells are sorted by group.

    Args:
        group: index of each cell's group, ascending without gaps, shape (C,).
        design: fixed effects, shape (C, P).
        n, passed: trials and passes, shape (C,).
    """

    group: Ints
    design: Floats
    n: Floats
    passed: Floats

    @property
    def starts(self) -> Ints:
        """First cell of each group, shape (G,)."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Log-likelihood without binomial coefficients, its gradient and its observed information.

    Parameters are `(beta_1..beta_P, sd)`: shapes (), (P+1,), (P+1, P+1).
    """

    value: float
    score: Floats
    information: Floats


def likelihood(data: Grouped, parameters: Floats, nodes: int) -> Likelihood:
    """The marginal likelihood at `parameters` with `nodes` quadrature nodes per group."""
    beta, sd = parameters[:-1], float(parameters[-1])
    offset = data.design @ beta
    mode, curvature = _modes(data, offset, sd)
    x, weights = _rule(nodes)
    u = mode[:, None] + np.sqrt(2.0 / curvature)[:, None] * x  # (G, Q)
    eta = offset[:, None] + sd * u[data.group]  # (C, Q)
    terms = data.passed[:, None] * eta - data.n[:, None] * np.logaddexp(0.0, eta)
    joint = np.add.reduceat(terms, data.starts, axis=0) - u**2 / 2 + np.log(weights) + x**2
    top = joint.max(axis=1, keepdims=True)
    mass = np.exp(joint - top)
    total = mass.sum(axis=1)
    value = float(np.sum(np.log(total) + top[:, 0] - np.log(np.pi * curvature) / 2))
    score, information = _louis(data, u, eta, mass / total[:, None])
    return Likelihood(value, score, information)


@cache
def _rule(nodes: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Gauss-Hermite quadrature."""
    x, weights = np.polynomial.hermite.hermgauss(nodes)
    return x, weights


def _modes(data: Grouped, offset: Floats, sd: float) -> tuple[Floats, Floats]:
    """Mode of each group's u given its counts, and minus the second derivative there; (G,)."""
    u = np.zeros(data.starts.size)
    for _ in range(MODE_STEPS):
        slope, curvature = _derivatives(data, offset, sd, u)
        step = np.clip(slope / curvature, -2.0, 2.0)  # concave: a shortened Newton step is safe
        u = u + step
        if np.abs(step).max() < MODE_TOLERANCE:
            break
    return u, _derivatives(data, offset, sd, u)[1]


def _derivatives(data: Grouped, offset: Floats, sd: float, u: Floats) -> tuple[Floats, Floats]:
    rate = expit(offset + sd * u[data.group])
    residual = np.add.reduceat(data.passed - data.n * rate, data.starts)
    noise = np.add.reduceat(data.n * rate * (1.0 - rate), data.starts)
    return sd * residual - u, sd**2 * noise + 1.0


def _louis(data: Grouped, u: Floats, eta: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """Gradient and observed information of the integral, from those of its integrand.

    Args:
        u, posterior: nodes and their posterior weights, (G, Q).
        eta: logits, (C, Q).
    """
    rate = expit(eta)
    residual = data.passed[:, None] - data.n[:, None] * rate
    weight = posterior[data.group] * data.n[:, None] * rate * (1.0 - rate)
    slope = np.concatenate(
        [data.design[:, None, :] * residual[:, :, None], (u[data.group] * residual)[:, :, None]],
        axis=2,
    )
    scores = np.add.reduceat(slope, data.starts, axis=0)  # (G, Q, P+1)
    mean = np.einsum("gq,gqp->gp", posterior, scores)
    spread = np.einsum("gq,gqp,gqr->pr", posterior, scores, scores) - mean.T @ mean
    return mean.sum(axis=0), _complete_information(data.design, u[data.group], weight) - spread


def _complete_information(design: Floats, u: Floats, weight: Floats) -> Floats:
    size = design.shape[1] + 1
    information = np.empty((size, size))
    information[:-1, :-1] = design.T @ (design * weight.sum(axis=1)[:, None])
    information[-1, :-1] = information[:-1, -1] = design.T @ (weight * u).sum(axis=1)
    information[-1, -1] = float(np.sum(weight * u**2))
    return information
