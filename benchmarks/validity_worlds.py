"""Simulated benchmarks whose truth is known: tasks, entries, bands, kills and solutions.

A trial of task t, entry m, band b is killed with probability `kill[t, b]`; if not, it passes with
`expit(ability[t, m] + push[b] + lean[t] pull[b])`. The pushes are solved for, so that every band's
score is exactly the one asked for. Numbers are as on Terminal-Bench 2.0: infra error rates and
scores by band, 89 tasks, and more than half of the variance of a trial between tasks.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from infranoise.analysis.cells import Cells

type Floats = NDArray[np.float64]

BANDS = ("1x", "1.5x", "2x", "3x", "5x", "uncapped")
INFRA = (0.058, 0.043, 0.033, 0.021, 0.012, 0.005)
SCORES = (0.420, 0.425, 0.430, 0.438, 0.458, 0.480)
TASKS = 89
LEAN = 14.0  # SD between tasks of a band's effect: logits per unit of score
ENTRIES = (0.10, 0.03, -0.03, -0.10)  # abilities over the mean, logits; cycled when more are asked


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Probabilities of one benchmark.

    Args:
        bands: names, ascending ceilings.
        kill: P(infra error), shape (T, B).
        solve: P(pass | not killed), shape (T, M, B).
    """

    bands: tuple[str, ...]
    kill: Floats
    solve: Floats

    @property
    def rate(self) -> Floats:
        """P(pass), shape (T, M, B)."""
        return self.solve * (1.0 - self.kill[:, None, :])

    @property
    def scores(self) -> Floats:
        """True score by band, shape (B,)."""
        return np.asarray(self.rate.mean(axis=(0, 1)))

    @property
    def errors(self) -> Floats:
        """True infra error rate by band, shape (B,)."""
        return np.asarray(self.kill.mean(axis=0))

    def tasks(self, chosen: NDArray[np.int64]) -> "World":
        """The world of some of its tasks."""
        return World(self.bands, self.kill[chosen], self.solve[chosen])

    def alike(self) -> "World":
        """The same world in which every band does what the first does."""
        first = np.zeros(len(self.bands), dtype=np.int64)
        return World(self.bands, self.kill[:, first], self.solve[:, :, first])

    def counts(
        self, rng: np.random.Generator, n: int | NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Draw (trials, passed, infra errors), each (T, M, B), with `n` trials a cell."""
        size = np.broadcast_to(np.asarray(n, dtype=np.int64), self.solve.shape)
        infra = rng.binomial(size, np.broadcast_to(self.kill[:, None, :], size.shape))
        return size, rng.binomial(size - infra, self.solve), infra

    def run(self, rng: np.random.Generator, n: int | NDArray[np.int64]) -> Cells:
        """Run the benchmark; cells by task, entry and band."""
        size, passed, infra = self.counts(rng, n)
        return as_cells(self.bands, size, passed, infra)


def as_cells(
    bands: tuple[str, ...],
    size: NDArray[np.int64],
    passed: NDArray[np.int64],
    infra: NDArray[np.int64],
) -> Cells:
    """Cells of arrays (T, M, B), without the labour of labels."""
    kept = size.reshape(-1) > 0
    task, entry, band = (i.reshape(-1)[kept] for i in np.indices(size.shape))
    tasks, entries, _ = size.shape
    hits = passed.reshape(-1)[kept]
    return Cells(
        {
            "task": tuple(map(str, range(tasks))),
            "entry": tuple(map(str, range(entries))),
            "band": bands,
        },
        {"task": task, "entry": entry, "band": band},
        size.reshape(-1)[kept],
        hits,
        infra.reshape(-1)[kept],
        hits.astype(np.float64),
        hits.astype(np.float64),
    )


def world(
    rng: np.random.Generator,
    *,
    tasks: int = TASKS,
    entries: int = 4,
    infra: tuple[float, ...] = INFRA,
    scores: tuple[float, ...] = SCORES,
    bands: tuple[str, ...] = BANDS,
) -> World:
    """A world with exactly the asked error rate and score in every band."""
    hunger = rng.gamma(2.0, 0.5, tasks)  # how much more often a task is killed than the mean
    kill = np.column_stack([_scaled(hunger, rate) for rate in infra])
    lean = rng.standard_normal(tasks)  # who gains more by headroom, and who loses
    offset = np.resize(np.asarray(ENTRIES), entries)
    ability = 2.8 * rng.standard_normal((tasks, 1)) + 1.5 * rng.standard_normal((tasks, entries))
    ability = ability + offset

    def solve(push: float, b: int) -> Floats:
        pull = LEAN * (scores[b] - scores[0]) * lean
        return np.asarray(expit(ability + push + pull[:, None]))

    def miss(push: float, b: int) -> float:
        return float(np.mean(solve(push, b) * (1.0 - kill[:, b, None]))) - scores[b]

    pushes = [brentq(miss, -20, 20, args=(b,), xtol=1e-13) for b in range(len(bands))]
    return World(bands, kill, np.stack([solve(push, b) for b, push in enumerate(pushes)], axis=2))


def _scaled(hunger: Floats, rate: float) -> Floats:
    """Kill probabilities proportional to hunger, at most 0.6, with the asked mean."""
    factor = brentq(lambda f: np.minimum(f * hunger, 0.6).mean() - rate, 0.0, 1.0, xtol=1e-15)
    return np.minimum(factor * hunger, 0.6)
