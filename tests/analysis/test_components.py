"""Variance components of a balanced grid."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.columns import Columns
from infranoise.analysis.components import components
from infranoise.analysis.flags import Flag
from infranoise.analysis.read import read_table
from infranoise.models.errors import SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row["expected"] for row in json.loads((GOLDEN / "effects.json").read_text())}
REML = json.loads((GOLDEN / "linear_model.json").read_text())["reml"]
SHORT = {"t": "task", "m": "entry", "b": "band"}


@pytest.fixture(scope="module")
def grid() -> Cells:
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
    return read_table(GOLDEN / "balanced_grid.csv", columns)


def _cells(passed: np.ndarray, n: np.ndarray | int) -> Cells:
    """Counts over (tasks, entries, bands)."""
    task, entry, band = np.indices(passed.shape).reshape(3, -1)
    return Cells.of_counts(
        {"task": task, "entry": entry, "band": band},
        n=np.broadcast_to(n, passed.shape).ravel(),
        passed=passed.ravel(),
    )


def test_finite_components_are_those_of_r_and_sum_to_the_variance_of_a_trial(grid: Cells) -> None:
    found, expected = components(grid).finite, R["C01"]
    for short, value in expected.items():
        kind, _, effect = short.partition(".")
        key = ":".join(SHORT[letter] for letter in effect.split(":")) if effect else ""
        if kind == "plug":
            assert found.plug_in[key] == pytest.approx(value, rel=1e-9)
        if kind == "phi":
            assert found.corrected[key] == pytest.approx(value, rel=1e-9)
    assert found.within == pytest.approx(expected["within"], rel=1e-9)
    assert found.total == pytest.approx(expected["total_trial_variance_identity"], rel=1e-9)
    assert found.corrected["entry:band"] < 0.0  # stored as it is


def test_random_components_are_those_of_anova_and_of_reml(grid: Cells) -> None:
    found, anova = components(grid.select(band="0")).super, R["C02b"]
    ours = [found[key] for key in ("task", "entry", "task:entry", "residual")]
    assert ours == pytest.approx([anova[k] for k in ("t", "m", "tm", "residual")], rel=1e-9)
    assert ours == pytest.approx([REML[k] for k in ("t", "m", "t:m", "Residual")], rel=1e-4)


def test_every_component_is_unbiased_even_with_unequal_samples() -> None:
    rng = np.random.default_rng(5)
    p = rng.beta(0.6, 0.8, (8, 2, 3))
    n = rng.integers(2, 6, p.shape)
    truth = components(_cells(np.rint(p * 10**6).astype(int), 10**6)).finite
    drawn = [components(_cells(rng.binomial(n, p), n)).finite for _ in range(400)]
    for key, value in truth.corrected.items():
        found = np.array([draw.corrected[key] for draw in drawn])
        assert abs(found.mean() - value) < 4 * found.std() / 20
    within = np.array([draw.within for draw in drawn])
    assert abs(within.mean() - (p * (1 - p)).mean()) < 4 * within.std() / 20


def test_tasks_that_lack_a_combination_are_left_out_and_flagged(grid: Cells) -> None:
    hole = ~((grid.codes["task"] == 3) & (grid.codes["band"] == 2) & (grid.codes["entry"] == 0))
    found = components(grid.where(hole))
    others = [level for level in grid.levels["task"] if level != "3"]
    assert found.flags == (Flag.INCOMPLETE,)
    assert found.tasks == 39
    assert found.finite == components(grid.select(task=others)).finite


def test_a_band_that_was_not_run_takes_no_task_away(grid: Cells) -> None:
    declared = Cells.of_counts(
        {"task": ["a", "a", "b", "b", "a"], "band": ["1", "2", "1", "2", "3"]},
        n=[4, 4, 4, 4, 0],
        passed=[1, 2, 3, 4, 0],
    ).constant(entry="m")
    assert components(declared).tasks == 2


def test_single_samples_show_no_noise_to_subtract() -> None:
    found = components(_cells(np.array([[[1, 0]], [[0, 1]]]), 1))
    assert found.flags == (Flag.SINGLE_SAMPLES,)
    assert (found.finite.corrected, found.finite.within, found.super) == (None, None, None)
    assert found.finite.plug_in["task:band"] == 0.25


def test_a_grid_without_a_complete_task_or_a_second_level_is_refused() -> None:
    ragged = Cells.of_counts(
        {"task": ["a", "b"], "entry": ["m", "m"], "band": ["1", "2"]}, n=[3, 3], passed=[1, 2]
    )
    with pytest.raises(SampleTooSmall, match="complete grid"):
        components(ragged)
    with pytest.raises(SampleTooSmall, match="nothing to split"):
        components(ragged.select(task="a", band="1"))


@given(st.permutations(range(6)))
def test_the_names_of_the_bands_do_not_matter(order: list[int]) -> None:
    passed = np.random.default_rng(1).integers(0, 6, (5, 2, 6))
    one = components(_cells(passed, 5)).finite.corrected
    other = components(_cells(passed[:, :, order], 5)).finite.corrected
    assert list(one.values()) == pytest.approx(list(other.values()), abs=1e-15)
