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
from infranoise.analysis.permutation import PairedCounts, Permutation, permutation_test
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
    return permutation_test(PairedCounts.of(cells, "a", "b"), draws)


@pytest.mark.parametrize("band", ["1", "2", "3"])
def test_equal_strata_are_summed_exactly(band: str) -> None:
    found = permutation_test(PairedCounts.of(_cells("balanced"), band, "0"))
    assert found.draws == 0
    assert found.p == pytest.approx(R["balanced"]["permutation_p"][band], rel=1e-9)


def test_unequal_strata_are_drawn() -> None:
    found = permutation_test(PairedCounts.of(_cells("ragged"), "2", "0"))
    assert found.draws == 9_999
    assert found.p == pytest.approx(R["ragged"]["permutation_p"]["2"], abs=0.01)


def test_the_draws_are_seeded() -> None:
    counts = PairedCounts.of(_cells("ragged"), "2", "0")
    assert permutation_test(counts, 500, seed=3) == permutation_test(counts, 500, seed=3)


def test_one_task_is_fishers_tea() -> None:
    """All relabellings of four of eight trials, counted one by one."""
    outcomes = np.array([1, 1, 1, 0, 0, 0, 0, 0])
    observed = outcomes[:4].mean() - outcomes[4:].mean()
    dealt = [outcomes[list(taken)].sum() for taken in combinations(range(8), 4)]
    as_far = np.mean([abs(k / 4 - (3 - k) / 4) >= observed - 1e-12 for k in dealt])
    found = _test([[4], [4]], [[3], [0]])
    assert (found.est, found.p) == pytest.approx((observed, as_far))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6))
@settings(max_examples=50)
def test_swapping_the_levels_changes_the_sign_only(pairs: list[tuple[int, int]]) -> None:
    n = [[4] * len(pairs), [4] * len(pairs)]
    a, b = [p[0] for p in pairs], [p[1] for p in pairs]
    one, other = _test(n, [a, b]), _test(n, [b, a])
    assert one.p == pytest.approx(other.p)
    assert one.est == pytest.approx(-other.est)
    assert one.est == pytest.approx(float(np.mean([(x - y) / 4 for x, y in pairs])))
    assert 0.0 < one.p <= 1.0


def test_outcomes_that_never_vary_show_nothing() -> None:
    assert _test([[5, 5], [5, 5]], [[5, 0], [5, 0]]).p == 1.0


def test_levels_that_never_met_are_refused() -> None:
    cells = Cells.of_counts(
        {"task": ["s", "t"], "entry": ["e", "e"], "band": ["a", "b"]}, n=[3, 3], passed=[1, 2]
    )
    with pytest.raises(SampleTooSmall, match="ran both a and b"):
        PairedCounts.of(cells, "a", "b")
    with pytest.raises(DesignError, match="no level 'c'"):
        PairedCounts.of(cells, "a", "c")
