"""The noise budget of a score, and how entries differ in their answer to bands."""

from pathlib import Path

import numpy as np
import pytest

from infranoise.analysis.attribution import attribute
from infranoise.analysis.budget import (
    ScoreDesign,
    Source,
    budget_of,
    noise_budget,
    task_variance,
    typical_design,
    within,
)
from infranoise.analysis.cells import Cells
from infranoise.analysis.columns import Columns
from infranoise.analysis.factor import Factor
from infranoise.analysis.flags import Flag
from infranoise.analysis.heterogeneity import heterogeneity
from infranoise.analysis.read import read_table
from infranoise.analysis.shocks import RunShocks
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
FACTORS = (Factor("band", "trial"), Factor("node"))


@pytest.fixture(scope="module")
def observed() -> Cells:
    columns = Columns.parse("task=t,entry=m,band=b,passed=y,infra_error=err", {"node": "node"})
    return read_table(GOLDEN / "observed_trials.csv", columns)


@pytest.fixture(scope="module")
def grid() -> Cells:
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
    return read_table(GOLDEN / "balanced_grid.csv", columns)


def test_the_lines_of_a_known_world_have_their_roots_and_shares() -> None:
    # Variances of a simulated benchmark of 89 tasks x 5 samples, in 1e-4, and its roots in points.
    world = {
        "sampling": (2.63, 1.62),
        "band": (4.37, 2.09),
        "node": (1.70, 1.30),
        "hour": (1.02, 1.01),
    }
    sources = [Source(name, v * 1e-4, v * 1e-4) for name, (v, _) in world.items()]
    found = budget_of(sources, ScoreDesign(89, 5))
    assert {line.source: round(line.sd_points, 2) for line in found.lines} == {
        name: sd for name, (_, sd) in world.items()
    }
    assert sum(line.share for line in found.lines) == pytest.approx(1.0)
    assert found.sd_points == pytest.approx(100 * np.sqrt(9.72e-4))


def test_sampling_is_the_mean_variance_in_cells_over_the_trials_of_a_score(grid: Cells) -> None:
    assert within(grid) == pytest.approx(0.102777777777778)
    assert typical_design(grid) == ScoreDesign(40, 5)
    attribution = attribute(grid, [Factor("band", "trial")], draws=99)
    found = noise_budget(grid, attribution, ScoreDesign(40, 5, 2))
    assert found.lines[0].variance == pytest.approx(0.102777777777778 / 400)


def test_the_lines_of_a_factor_add_up_to_its_component_on_these_tasks(observed: Cells) -> None:
    attribution = attribute(observed, FACTORS, draws=99)
    found = {line.source: line for line in noise_budget(observed, attribution).lines}
    assert list(found) == ["sampling", "band", "task:band", "node", "task:node"]
    both = found["band"].variance + found["task:band"].variance
    assert both == pytest.approx(attribution.factors[0].component.phi)
    assert found["node"].flags == (Flag.ASSOCIATION,)


def test_what_both_scores_share_adds_nothing(observed: Cells) -> None:
    attribution = attribute(observed, FACTORS, draws=99)
    found = noise_budget(observed, attribution, matched=["band"])
    assert [line.source for line in found.lines] == ["sampling", "node", "task:node"]


def test_new_tasks_and_shared_shocks_have_lines_of_their_own(observed: Cells) -> None:
    attribution = attribute(observed, FACTORS, draws=99)
    shocks = RunShocks(
        sigma2_run=-1e-5, chi2=1.0, df=2, p=0.6, overdispersion=0.5, entries=1, runs=3
    )
    found = noise_budget(observed, attribution, ScoreDesign(80, 10), run=shocks, target="new")
    lines = {line.source: line for line in found.lines}
    assert found.target == "new"
    assert lines["task"].variance == pytest.approx(task_variance(observed) / 80)
    assert (lines["run"].variance, lines["run"].sd_points, lines["run"].share) == (-1e-5, 0.0, 0.0)


def test_a_budget_needs_a_score_and_noise(observed: Cells) -> None:
    with pytest.raises(DesignError):
        ScoreDesign(0, 5)
    single = Cells.of_counts(
        {"task": ["a", "b"], "entry": ["m", "m"], "band": ["1", "1"]}, n=[1, 1], passed=[0, 1]
    )
    with pytest.raises(SampleTooSmall, match="two or more"):
        within(single)


def test_entries_are_compared_in_their_lifts_within_tasks(grid: Cells) -> None:
    found = heterogeneity(grid, draws=199)
    assert (len(found.differences), len(found.flips)) == (3 * 5, 3 * 15)
    row = next(d for d in found.differences if (d.a, d.b, d.band) == ("0", "2", "5"))
    p = (grid.reward_sum / grid.n).reshape(40, 3, 6)
    lifts = (p[:, 0, 5] - p[:, 0, 0]) - (p[:, 2, 5] - p[:, 2, 0])
    noise = sum(p[:, m, b] * (1 - p[:, m, b]) / 4 for m in (0, 2) for b in (0, 5))
    assert row.lift.est == pytest.approx(lifts.mean())
    assert row.lift.se_new == pytest.approx(lifts.std(ddof=1) / np.sqrt(40))
    assert row.lift.se_same == pytest.approx(np.sqrt(noise.sum()) / 40)
    assert row.p_holm_new >= row.lift.p_new


def test_ranks_that_never_flip_and_ranks_that_do() -> None:
    task, entry, band = np.indices((30, 2, 2)).reshape(3, -1)
    rng = np.random.default_rng(0)

    def flips(p: np.ndarray) -> float:
        cells = Cells.of_counts(
            {"task": task, "entry": entry, "band": band},
            n=[20] * task.size,
            passed=rng.binomial(20, p[entry, band]),
        )
        (flip,) = heterogeneity(cells).flips
        assert flip.probability is not None
        return flip.probability

    assert flips(np.array([[0.7, 0.7], [0.3, 0.3]])) == 0.0
    assert flips(np.array([[0.7, 0.3], [0.3, 0.7]])) == 1.0
    assert 0.2 < flips(np.array([[0.5, 0.5], [0.5, 0.5]])) < 0.8


def test_entries_that_share_no_task_are_not_compared(grid: Cells) -> None:
    half = grid.codes["task"] < 20
    apart = grid.where(np.where(grid.codes["entry"] == 0, half, ~half))
    found = heterogeneity(apart.select(entry=["0", "1"]), draws=9)
    assert (found.differences, found.flips) == ((), ())
