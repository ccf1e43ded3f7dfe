"""Runs that share a shock."""

import numpy as np
import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.shocks import RunShocks, run_shocks
from infranoise.models.errors import SampleTooSmall


def _runs(passed: np.ndarray, n: int = 1) -> Cells:  # type: ignore[type-arg]
    """Counts of shape (entries, runs, tasks)."""
    entry, run, task = np.indices(passed.shape).reshape(3, -1)
    return Cells.of_counts(
        {"entry": entry, "run": run, "task": task}, n=[n] * task.size, passed=passed.reshape(-1)
    )


def _simulated(shock_sd: float, repeats: int) -> list[RunShocks]:
    rng = np.random.default_rng(2)
    found = []
    for _ in range(repeats):
        rate = rng.uniform(0.2, 0.8, (3, 1, 60))
        shocked = np.clip(rate + shock_sd * rng.standard_normal((3, 5, 1)), 0, 1)
        found.append(run_shocks(_runs(rng.binomial(1, shocked))))
    return found


def test_the_formula_by_hand() -> None:
    passed = np.array([[[1, 1, 0, 1], [0, 1, 0, 0], [1, 1, 0, 1]]])
    means = passed[0].mean(axis=1)
    rate = passed[0].mean(axis=0)
    expected = np.sum(rate * (1 - rate) * 3 / 2) / 4**2
    found = run_shocks(_runs(passed))
    assert found.df == 2
    assert found.chi2 == pytest.approx(2 * means.var(ddof=1) / expected)
    assert found.sigma2_run == pytest.approx(means.var(ddof=1) - expected)
    assert found.overdispersion == pytest.approx(found.chi2 / 2)


def test_runs_without_a_shock_are_explained_by_sampling() -> None:
    found = _simulated(0.0, 200)
    assert np.mean([f.overdispersion for f in found]) == pytest.approx(1.0, abs=0.1)
    assert 0.01 <= np.mean([f.p < 0.05 for f in found]) <= 0.10
    assert np.mean([f.sigma2_run for f in found]) == pytest.approx(0.0, abs=5e-4)


def test_a_shared_shock_is_found_and_sized() -> None:
    found = _simulated(0.08, 100)
    assert np.mean([f.sigma2_run for f in found]) == pytest.approx(0.08**2, rel=0.2)
    assert np.mean([f.p < 0.05 for f in found]) > 0.5


def test_several_samples_per_run_count() -> None:
    rng = np.random.default_rng(4)
    found = run_shocks(_runs(rng.binomial(6, 0.5, (1, 8, 50)), n=6))
    assert found.overdispersion < 3


def test_tasks_that_a_run_lacks_are_left_out() -> None:
    cells = _runs(np.array([[[1, 0, 1], [0, 1, 1]]]))
    without = Cells.of_counts(
        {"entry": [0] * 5, "run": [0, 0, 0, 1, 1], "task": [0, 1, 2, 0, 1]},
        n=[1] * 5,
        passed=[1, 0, 1, 0, 1],
    )
    assert run_shocks(without) == run_shocks(cells.select(task=["0", "1"]))


def test_one_run_or_no_spread_is_refused() -> None:
    with pytest.raises(SampleTooSmall, match="repeat the run"):
        run_shocks(_runs(np.array([[[1, 0, 1]]])))
    with pytest.raises(SampleTooSmall, match="repeat the run"):
        run_shocks(_runs(np.ones((1, 3, 4), int)))


def test_what_was_set_for_whole_runs_is_no_shock() -> None:
    rng = np.random.default_rng(6)
    run, task = np.indices((12, 60)).reshape(2, -1)
    rate = rng.uniform(0.3, 0.6, 60)[task] + 0.3 * (run % 2)
    cells = Cells.of_counts(
        {"entry": ["e"] * run.size, "run": run, "task": task, "level": run % 2},
        n=np.ones(run.size),
        passed=rng.binomial(1, rate),
    )
    assert run_shocks(cells).p < 0.001
    found = run_shocks(cells, apart=["level"])
    assert found.p > 0.01
    assert (found.entries, found.runs, found.df) == (2, 12, 10)
