"""The stratified randomisation test: were the labels of two levels dealt out at random?

Within each task x entry the trials keep their outcomes and only swap levels, so the passes of a
level are hypergeometric and nothing is assumed of rates or of their distribution. Where all strata
weigh alike the null distribution is summed exactly; otherwise it is drawn.

Source: Fisher (1935), The Design of Experiments; Good (2005), Permutation Tests, chapter 3;
Phipson & Smyth (2010), Stat Appl Genet Mol Biol 9:39, for counting the observed draw in.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ..models.errors import SampleTooSmall
from .arrays import Bools, Floats, Ints
from .cells import Cells
from .grouping import mixed_radix

DRAWS = 9_999
DRAWS_AT_ONCE = 2_000_000  # hypergeometric draws held in memory


@dataclass(frozen=True, slots=True)
class Permutation:
    """Two-sided p of no difference; `draws` is 0 where the distribution was summed exactly."""

    est: float
    p: float
    draws: int
    strata: int


@dataclass(frozen=True, slots=True, eq=False)
class PairedCounts:
    """Trials and passes of two levels in the strata that both ran; shape (S,).

    `weight` is a stratum's share of the contrast: 1 over the tasks, over its task's entries.
    """

    n_a: Ints
    passed_a: Ints
    n_b: Ints
    passed_b: Ints
    weight: Floats

    @classmethod
    def of(cls, cells: Cells, a: str, b: str, factor: str = "band") -> "PairedCounts":
        """Counts of levels `a` and `b` of a factor.

        Raises:
            DesignError: no such factor or level.
            SampleTooSmall: no task and entry ran both.
        """
        names = (factor, "task", "entry")
        at = [cells.index(factor, a), cells.index(factor, b)]
        shape = [len(cells.levels[name]) for name in names]
        key, slots = mixed_radix([cells.codes[name] for name in names], shape, len(cells))
        n, passed = (
            np.rint(np.bincount(key, weights=column, minlength=slots)).astype(np.int64)
            for column in (cells.n, cells.passed)
        )
        n, passed = n.reshape(shape)[at], passed.reshape(shape)[at]
        both: Bools = (n > 0).all(axis=0)
        if not both.any():
            raise SampleTooSmall(f"no task and entry ran both {a} and {b}; nothing to compare")
        entries = both.sum(axis=1)
        per_entry = np.divide(1.0, entries, out=np.zeros(entries.shape), where=entries > 0)
        weight = np.broadcast_to(per_entry[:, None] / np.count_nonzero(entries), both.shape)[both]
        return cls(n[0][both], passed[0][both], n[1][both], passed[1][both], weight)


def permutation_test(counts: PairedCounts, draws: int = DRAWS, seed: int = 0) -> Permutation:
    """Test the mean of `passed_a/n_a - passed_b/n_b` over strata against swapped labels.

    Args:
        draws: random relabellings where the exact distribution cannot be summed.
        seed: of those draws.
    """
    total, size = counts.passed_a + counts.passed_b, counts.n_a + counts.n_b
    per_pass = counts.weight * (1.0 / counts.n_a + 1.0 / counts.n_b)
    # d = sum of per_pass * (passed_a - its mean under the null): the rest of d is constant.
    moved = counts.passed_a - total * counts.n_a / size
    est = float(np.sum(per_pass * moved))
    free = (total > 0) & (total < size)
    if not free.any():
        return Permutation(est, 1.0, 0, counts.n_a.size)
    good, bad, taken = total[free], (size - total)[free], counts.n_a[free]
    step = per_pass[free]
    if np.allclose(step, step[0], rtol=1e-12, atol=0.0):
        observed = float(np.sum(moved[free]))
        p = _exact(good, bad, taken, observed)
        return Permutation(est, p, 0, counts.n_a.size)
    p = _drawn(good, bad, taken, step, abs(est), draws, seed)
    return Permutation(est, p, draws, counts.n_a.size)


def _exact(good: Ints, bad: Ints, taken: Ints, observed: float) -> float:
    """P(|sum of passes - its mean| >= |observed|), by convolution of the strata."""
    sums, lowest = np.ones(1), 0
    for g, b, k in zip(good.tolist(), bad.tolist(), taken.tolist(), strict=True):
        least, most = max(0, k - b), min(k, g)
        sums = np.convolve(sums, _hypergeometric(g, b, k, least, most))
        lowest += least
    mean = float(np.sum(good * taken / (good + bad)))
    away = np.abs(lowest + np.arange(sums.size) - mean)
    return min(1.0, float(sums[away >= abs(observed) - 1e-9].sum()))


def _hypergeometric(good: int, bad: int, taken: int, least: int, most: int) -> Floats:
    """P(k passes among `taken`) for k in least..most."""
    k = np.arange(least, most + 1)

    def choose(n: int, r: Ints | int) -> Floats:
        return np.asarray(gammaln(n + 1) - gammaln(np.asarray(r) + 1) - gammaln(n - r + 1))

    logs = choose(good, k) + choose(bad, taken - k) - choose(good + bad, taken)
    density: Floats = np.exp(logs)
    return density / density.sum()


def _drawn(
    good: Ints, bad: Ints, taken: Ints, step: Floats, observed: float, draws: int, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    mean, as_far, left = good * taken / (good + bad), 0, draws
    while left > 0:
        now = min(left, max(1, DRAWS_AT_ONCE // good.size))
        passes = rng.hypergeometric(good, bad, taken, size=(now, good.size))
        as_far += int(np.count_nonzero(np.abs((passes - mean) @ step) >= observed - 1e-12))
        left -= now
    return (1 + as_far) / (draws + 1)
