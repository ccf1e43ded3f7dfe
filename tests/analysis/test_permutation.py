"""The stratified randomisation test."""

import csv
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.pairs import pairs
from infranoise.analysis.permutation import Permutation, permutation
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = json.loads((GOLDEN / "mixed_model.json").read_text())


def _cells(name: str) -> Cells:
    with (GOLDEN / f"mixed_{name}.csv").open() as file:
        rows = list(csv.DictReader(file))
    return Cells.of_counts(
        {factor: [row[factor] for row in rows] for factor in ("task", "entry", "band")},
        n=[int(row["n"]) for row in rows],
        passed=[int(row["passed"]) for row in rows],
    )


def _test(n: list[list[int]], passed: list[list[int]], draws: int = 2_000) -> Permutation:
    """Counts of levels a and b, each by task, of one entry."""
    tasks = [str(t) for t in range(len(n[0]))]
    cells = Cells.of_counts(
        {
            "task": tasks * 2,
            "entry": ["e"] * (2 * len(tasks)),
            "band": ["a"] * len(tasks) + ["b"] * len(tasks),
        },
        n=n[0] + n[1],
        passed=passed[0] + passed[1],
        levels={"band": ["a", "b"]},
    )
    return permutation(pairs(cells, "a", "b"), draws=draws)


CASES = [("balanced", "1"), ("balanced", "2"), ("balanced", "3"), ("ragged", "2")]


@pytest.mark.parametrize(("name", "band"), CASES)
def test_the_p_value_is_that_of_the_exact_distribution(name: str, band: str) -> None:
    found = permutation(pairs(_cells(name), band, "0"))
    expected = R[name]["permutation_p"][band]
    assert found.draws == 9_999
    assert found.p == pytest.approx(expected, abs=4 * (expected / 9_999) ** 0.5 + 1e-4)


def test_the_draws_are_seeded() -> None:
    found = pairs(_cells("ragged"), "2", "0")
    assert permutation(found, draws=500, seed=3) == permutation(found, draws=500, seed=3)


def test_one_task_is_fishers_tea() -> None:
    """All relabellings of four of eight trials, counted one by one."""
    outcomes = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    observed = outcomes[:4].mean() - outcomes[4:].mean()
    dealt = [outcomes[list(taken)].sum() for taken in combinations(range(8), 4)]
    as_far = np.mean([abs(k / 4 - (3 - k) / 4) >= observed - 1e-12 for k in dealt])
    found = _test([[4], [4]], [[3], [0]])
    assert found.est == pytest.approx(observed)
    assert found.p == pytest.approx(as_far, abs=0.04)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
@settings(max_examples=50)
def test_swapping_the_levels_changes_the_sign_only(by_task: list[tuple[int, int]]) -> None:
    n = [[4] * len(by_task), [4] * len(by_task)]
    a, b = [p[0] for p in by_task], [p[1] for p in by_task]
    one, other = _test(n, [a, b]), _test(n, [b, a])
    assert one.p == pytest.approx(other.p, abs=0.06)
    assert one.est == pytest.approx(-other.est)
    assert one.est == pytest.approx(float(np.mean([(x - y) / 4 for x, y in by_task])))
    assert 0.0 < one.p <= 1.0


def test_no_difference_at_all_is_never_far_from_any_shuffle() -> None:
    """The observed difference is 0 but for rounding; every shuffle is at least as far."""
    a, b = [0, 0, 1, 4, 1], [0, 2, 4, 0, 0]
    n = [[4] * 5, [4] * 5]
    assert _test(n, [a, b]).p == _test(n, [b, a]).p == 1.0


def test_outcomes_that_never_vary_show_nothing() -> None:
    assert _test([[5, 5], [5, 5]], [[5, 0], [5, 0]]).p == 1.0


def test_levels_that_never_met_are_refused() -> None:
    cells = Cells.of_counts(
        {"task": ["s", "t"], "entry": ["e", "e"], "band": ["a", "b"]}, n=[3, 3], passed=[1, 2]
    )
    with pytest.raises(SampleTooSmall, match="both a and b"):
        pairs(cells, "a", "b")
    with pytest.raises(DesignError, match="no level 'c'"):
        pairs(cells, "a", "c")
