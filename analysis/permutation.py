"""Stratified randomisation tests: which trials of a stratum were at which level is shuffled.

Given a stratum's hits, those at level a are hypergeometric if the level does nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..models.errors import DesignError
from .arrays import Floats, Ints
from .grouping import compact
from .pairs import Pairs

DRAWS = 9_999
DRAWS_AT_ONCE = 1_000
TIE = 1 + 1e-7
ROUNDING = 1e-12  # sums of the same fractions in another order


@dataclass(frozen=True, slots=True)
class Permutation:
    """Two-sided p-value of the same-task difference under shuffling within strata."""

    est: float
    p: float
    draws: int


def exact(found: Pairs) -> float | None:
    """Two-sided exact conditional p-value of the hits at level a, summed over strata.

    The sum's distribution is the convolution of the strata's hypergeometrics; outcomes no likelier
    than ours count. None where no stratum holds both a hit and a miss.

    Source: as R's mantelhaen.test(exact = TRUE).
    """
    informative = found.informative
    if not informative.any():
        return None
    table = zip(
        found.n_a[informative],
        found.n_b[informative],
        (found.hits_a + found.hits_b)[informative],
        strict=True,
    )
    density, lowest = np.ones(1), 0
    for n_a, n_b, hits in table:
        density = np.convolve(density, _hypergeometric(int(n_a), int(n_b), int(hits)))
        lowest += max(0, int(hits) - int(n_b))
    ours = density[int(found.hits_a[informative].sum()) - lowest]
    return min(1.0, float(density[density <= ours * TIE].sum() / density.sum()))


def permutation(found: Pairs, *, draws: int = DRAWS, seed: int = 0) -> Permutation:
    """Two-sided p-value of the mean difference over entries, then tasks, by shuffled trials.

    `p = (1 + draws at least as far from 0) / (1 + draws)`.

    Args:
        draws: shuffles, 1 or more. seed: the same seed gives the same p.
    Raises:
        DesignError: fewer than one draw.
    Source: Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39, for the added one.
    """
    if draws < 1:
        raise DesignError(f"{draws} draws: a permutation test needs one or more")
    weight = _weights(found.task)
    hits = found.hits_a + found.hits_b
    # a/n_a - (m-a)/n_b is linear in a: one slope per stratum, and a constant.
    slope = weight * (1 / found.n_a + 1 / found.n_b)
    constant = float(np.sum(weight * hits / found.n_b))
    est = float(slope @ found.hits_a) - constant
    informative = found.informative
    fixed = float(slope[~informative] @ found.hits_a[~informative]) - constant
    rng = np.random.default_rng(seed)
    far, left = 0, draws
    while left > 0:
        size = min(left, DRAWS_AT_ONCE)
        shuffled = rng.hypergeometric(
            hits[informative],
            (found.n_a + found.n_b - hits)[informative],
            found.n_a[informative],
            size=(size, int(np.count_nonzero(informative))),
        )
        distance = np.abs(shuffled @ slope[informative] + fixed)
        far += int(np.count_nonzero(distance >= abs(est) - ROUNDING))
        left -= size
    return Permutation(est, (1 + far) / (1 + draws), draws)


def _weights(task: Ints) -> Floats:
    """Each stratum's weight in a mean over entries, then over tasks."""
    member, tasks = compact(task)
    return 1.0 / (tasks * np.bincount(member)[member])


def _hypergeometric(n_a: int, n_b: int, hits: int) -> Floats:
    """Probability of each possible number of hits among the n_a trials at level a."""
    k = np.arange(max(0, hits - n_b), min(n_a, hits) + 1)
    log = _log_choose(n_a, k) + _log_choose(n_b, hits - k)
    density: Floats = np.exp(log - log.max())
    return density / density.sum()


def _log_choose(n: int, k: Ints) -> Floats:
    return np.asarray(
        special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1),
        dtype=np.float64,
    )
