"""Resampling tasks of an absorbed fit: what the components would be on other tasks like these."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .arrays import Floats, Ints
from .clusters import cluster_scores
from .fit import Fit
from .grouping import compact
from .intervals import BOOTSTRAP_DRAWS, Interval, percentile, task_weights
from .phi import Quadratic


@dataclass(frozen=True, slots=True, eq=False)
class TaskBootstrap:
    """Refits of a design to resampled tasks.

    Args:
        weights: how often each task is drawn, shape (draws, T).
        effects: refitted effects, shape (draws, p).
        scores: each task's score at the original fit, shape (T, p).
        bread: of the original fit, shape (p, p).
    """

    weights: Floats
    effects: Floats
    scores: Floats
    bread: Floats

    def interval(self, form: Quadratic, confidence: float = 0.95) -> Interval:
        """Percentile interval of the component, corrected in every draw.

        The noise that is subtracted from a draw is that of its tasks between themselves, by their
        scores at the original fit.
        """
        b = self.effects[:, list(form.columns)]
        plug_in = np.sum((b @ form.spread) * b, axis=1)
        size = self.bread.shape[0]
        metric = self.bread @ form.embedded(size) @ self.bread
        by_task = np.sum((self.scores @ metric) * self.scores, axis=1)
        return percentile(plug_in - self.weights @ by_task, confidence)


def task_bootstrap(fit: Fit, *, draws: int = BOOTSTRAP_DRAWS, seed: int = 0) -> TaskBootstrap:
    """Multinomial resampling of tasks with a refit per draw, on each task's Gram and moments.

    Raises:
        SampleTooSmall: fewer than two tasks.
    """
    task, tasks = compact(fit.design.cells.codes["task"])
    weights = task_weights(tasks, draws, seed)
    scores = cluster_scores(fit, task, tasks)
    gram = np.tensordot(weights, _grams(fit, task), axes=1)
    # X~'Ny of a task is G_t b + u_t, so a draw moves the effects by G_w^-1 sum of w_t u_t.
    shift = _solve(gram, weights @ scores)
    return TaskBootstrap(weights, fit.effects + shift, scores, fit.bread)


def _grams(fit: Fit, task: Ints) -> Floats:
    """Each task's Gram matrix, shape (T, p, p); cells are sorted by task."""
    bounds = np.searchsorted(task, np.arange(task[-1] + 2))
    z, n = fit.design.centred, fit.design.cells.n.astype(np.float64)
    parts = (slice(a, b) for a, b in pairwise(bounds.tolist()))
    return np.stack([(z[:, part] * n[part]) @ z[:, part].T for part in parts])


def _solve(gram: Floats, moments: Floats) -> Floats:
    columns = moments[:, :, None]
    try:
        solved = np.linalg.solve(gram, columns)
    except np.linalg.LinAlgError:  # a draw without any task that has some level
        solved = np.linalg.pinv(gram, hermitian=True) @ columns
    return np.asarray(solved[:, :, 0], dtype=np.float64)
