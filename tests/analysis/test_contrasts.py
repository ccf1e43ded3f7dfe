"""Contrasts within task x entry strata, and equivalence."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.columns import Columns
from infranoise.analysis.contrasts import contrast
from infranoise.analysis.equivalence import equivalence, tost
from infranoise.analysis.flags import Flag
from infranoise.analysis.proportions import two_proportions
from infranoise.analysis.read import read_table
from infranoise.analysis.strata import Strata, strata_by_level
from infranoise.models.errors import SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row["expected"] for row in json.loads((GOLDEN / "effects.json").read_text())}


@pytest.fixture(scope="module")
def grid() -> Cells:
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=err")
    return read_table(GOLDEN / "balanced_grid.csv", columns)


def _table(n: list[list[int]], passed: list[list[int]]) -> Strata:
    """One level, tasks by entries."""
    trials, hits = np.array(n), np.array(passed)
    tasks, entries = np.indices(trials.shape)
    cells = Cells.of_counts(
        {"task": tasks.ravel(), "entry": entries.ravel(), "band": ["x"] * trials.size},
        n=trials.ravel(),
        passed=hits.ravel(),
    )
    return strata_by_level(cells)["x"]


@pytest.mark.parametrize("band", ["3", "5"])
def test_a_contrast_is_that_of_r_naive_on_the_same_tasks_and_on_new_ones(
    grid: Cells, band: str
) -> None:
    expected = R["C03"][f"b{band}"]
    tables, totals = strata_by_level(grid), grid.by("band")
    found = contrast(tables[band], tables["0"])
    naive = two_proportions(
        *(int(c[int(b)]) for b in (band, "0") for c in (totals.passed, totals.n))
    )
    assert (found.df_new, found.strata) == (39, 120)
    assert [
        found.est,
        naive.se,
        found.se_same,
        found.se_new,
        naive.p,
        found.p_same,
        found.p_new,
        found.tau2,
        *found.ci_new,
    ] == pytest.approx(list(expected.values()), rel=1e-9)


def test_equivalence_is_that_of_r(grid: Cells) -> None:
    expected = R["C10"]
    tables = strata_by_level(grid)
    lift = contrast(tables["3"], tables["0"])
    new = tost(lift.est, lift.se_new, 0.03, lift.df_new)
    shown = equivalence(lift, 0.03)
    assert [
        new.p_lower,
        new.p_upper,
        new.p,
        *new.ci,
        shown.p_same,
        shown.smallest_margin_new,
        shown.smallest_margin_same,
    ] == pytest.approx(list(expected.values()), rel=1e-9)
    assert shown.p_new == new.p


@given(st.floats(-0.2, 0.2), st.floats(0.001, 0.1), st.floats(0.01, 0.3))
def test_the_smallest_margin_is_where_equivalence_begins(
    est: float, se: float, margin: float
) -> None:
    smallest = tost(est, se, margin).smallest_margin
    assert tost(est, se, smallest).p == pytest.approx(0.05, abs=1e-9)
    assert (tost(est, se, margin).p <= 0.05) == (smallest <= margin + 1e-12)


def test_equivalence_without_noise_is_refused() -> None:
    with pytest.raises(SampleTooSmall):
        tost(0.0, 0.0, 0.03)


def test_swapping_the_levels_turns_the_sign_and_nothing_else(grid: Cells) -> None:
    tables = strata_by_level(grid)
    there, back = contrast(tables["5"], tables["0"]), contrast(tables["0"], tables["5"])
    assert there.est == -back.est
    assert (there.se_same, there.se_new, there.tau2) == pytest.approx(
        (back.se_same, back.se_new, back.tau2)
    )
    assert there.ci_same == pytest.approx((-back.ci_same.hi, -back.ci_same.lo))


def test_only_strata_run_at_both_levels_enter() -> None:
    a = _table([[5, 5], [5, 0], [4, 0]], [[5, 0], [3, 0], [1, 0]])
    b = _table([[5, 0], [5, 0], [0, 5]], [[2, 0], [1, 0], [0, 5]])
    found = contrast(a, b)
    assert (found.tasks, found.strata) == (2, 2)
    assert found.est == pytest.approx(((1.0 - 0.4) + (0.6 - 0.2)) / 2)
    with pytest.raises(SampleTooSmall, match="nothing to compare"):
        contrast(_table([[5], [0]], [[1], [0]]), _table([[0], [5]], [[0], [1]]))


def test_tasks_count_alike_however_many_entries_they_have() -> None:
    a = _table([[5, 5], [5, 0]], [[5, 5], [0, 0]])
    b = _table([[5, 5], [5, 0]], [[0, 0], [0, 0]])
    assert contrast(a, b).est == pytest.approx(0.5)


def test_single_samples_are_judged_by_the_spread_of_their_differences_not_by_zero_noise() -> None:
    a = _table([[1]] * 8, [[1], [1], [1], [1], [0], [0], [1], [0]])
    b = _table([[1]] * 8, [[0], [0], [1], [0], [0], [0], [1], [1]])
    found = contrast(a, b)
    d = np.array([1, 1, 0, 1, 0, 0, 0, -1])
    assert found.flags == (Flag.SINGLE_SAMPLES,)
    assert found.se_same == pytest.approx(np.sqrt(d.var(ddof=1) / 8))
    assert found.tau2 is None


def test_one_task_says_nothing_about_other_tasks() -> None:
    found = contrast(_table([[10]], [[8]]), _table([[10]], [[5]]))
    assert (found.se_new, found.p_new, found.ci_new, found.tau2) == (None,) * 4
    assert found.flags == (Flag.ONE_TASK,)
    assert found.p_same is not None


def test_cells_that_pass_throughout_give_no_p_value_but_a_flag() -> None:
    found = contrast(_table([[5], [5]], [[5], [5]]), _table([[5], [5]], [[5], [5]]))
    assert (found.est, found.se_same, found.p_same, found.ci_same) == (0.0, 0.0, None, None)
    assert found.flags == (Flag.NO_SPREAD, Flag.TASKS_AGREE)
    assert equivalence(found).p_same is None


def test_a_scaled_contrast_asks_whether_errors_were_cut_to_a_share() -> None:
    a, b = _table([[10], [10]], [[1], [2]]), _table([[10], [10]], [[4], [6]])
    found = contrast(a, b, scale=0.5)
    assert found.est == pytest.approx(((0.1 - 0.2) + (0.2 - 0.3)) / 2)
    variance = [p * (1 - p) / 9 for p in (0.1, 0.2, 0.4, 0.6)]
    assert found.se_same == pytest.approx(
        np.sqrt(variance[0] + variance[1] + (variance[2] + variance[3]) / 4) / 2
    )


def test_the_same_task_error_is_right_for_the_same_tasks() -> None:
    rng = np.random.default_rng(11)
    p = np.stack([rng.beta(0.5, 0.7, (60, 2)) for _ in range(2)])
    truth = float((p[0] - p[1]).mean())
    inside = 0
    for _ in range(300):
        hits = rng.binomial(5, p)
        n = np.full((60, 2), 5)
        found = contrast(_table(n.tolist(), hits[0].tolist()), _table(n.tolist(), hits[1].tolist()))
        inside += found.ci_same.lo <= truth <= found.ci_same.hi
    assert 0.91 <= inside / 300 <= 0.98
