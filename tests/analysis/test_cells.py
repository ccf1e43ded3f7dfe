"""Cells: trials collapsed to counts, losing nothing that an estimator needs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.models.errors import DesignError, SampleTooSmall

ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["x", "y"]),
        st.integers(0, 4),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=12,
)


def _cells(rows: list[tuple[str, str, int, int, int]]) -> Cells:
    return Cells.of_counts(
        {"task": [r[0] for r in rows], "band": [r[1] for r in rows]},
        n=[r[2] + r[3] + r[4] for r in rows],
        passed=[r[3] for r in rows],
        infra=[r[4] for r in rows],
    )


@given(ROWS)
def test_collapsing_by_fewer_factors_keeps_every_sum(
    rows: list[tuple[str, str, int, int, int]],
) -> None:
    cells = _cells(rows)
    for merged in (cells.by("task"), cells.by("band"), cells.by("band", "task"), cells.by()):
        for column in ("n", "passed", "infra", "reward_sum", "reward_sumsq"):
            assert getattr(merged, column).sum() == getattr(cells, column).sum()
    assert cells.n.sum() == sum(sum(r[2:]) for r in rows)


@given(ROWS)
def test_selecting_every_level_in_turn_shares_the_trials_out(
    rows: list[tuple[str, str, int, int, int]],
) -> None:
    cells = _cells(rows)
    parts = [cells.select(task=level) for level in cells.levels["task"]]
    assert sum(int(part.n.sum()) for part in parts) == cells.n.sum()


def test_rows_of_one_combination_add_up() -> None:
    cells = Cells.of_counts({"band": ["1x", "1x"]}, n=[2, 3], passed=[1, 2], infra=[1, 0])
    assert (len(cells), cells.n.tolist(), cells.passed.tolist()) == (1, [5], [3])


def test_a_level_without_trials_stays_a_level() -> None:
    cells = Cells.of_counts({"band": ["1x", "3x"]}, n=[5, 0], passed=[2, 0])
    assert cells.levels["band"] == ("1x", "3x")
    assert len(cells) == 1


def test_levels_stand_in_reading_order_unless_another_is_given() -> None:
    labels = ["uncapped", "10x", "1.5x", "1x"]
    counts = {"n": [1] * 4, "passed": [0] * 4}
    assert Cells.of_counts({"band": labels}, **counts).levels["band"] == (
        "1x",
        "1.5x",
        "10x",
        "uncapped",
    )
    kept = Cells.of_counts({"band": labels}, **counts, levels={"band": labels})
    assert kept.levels["band"] == tuple(labels)


def test_leaving_infra_errors_out_takes_them_from_n_and_drops_what_is_empty() -> None:
    cells = Cells.of_counts({"band": ["1x", "3x"]}, n=[5, 2], passed=[3, 0], infra=[1, 2])
    left = cells.excluded()
    assert (left.n.tolist(), left.passed.tolist(), left.infra.tolist()) == ([4], [3], [0])
    assert left.levels["band"] == ("1x", "3x")


def test_the_noise_of_a_cell_is_unbiased_over_all_its_outcomes() -> None:
    n, p = 4, 0.3
    k = np.arange(n + 1)
    weight = np.array([1, 4, 6, 4, 1]) * p**k * (1 - p) ** (n - k)
    noise = [Cells.of_counts({"b": ["x"]}, n=[n], passed=[int(i)]).noise()[0] for i in k]
    assert float(weight @ noise) == pytest.approx(p * (1 - p) / n)


def test_fractional_rewards_have_the_noise_of_their_sample() -> None:
    rewards = np.array([0.1, 0.5, 0.5, 1.0])
    cells = Cells.of_counts(
        {"b": ["x"]},
        n=[4],
        passed=[1],
        reward_sum=[rewards.sum()],
        reward_sumsq=[(rewards**2).sum()],
    )
    assert cells.fractional
    assert cells.noise()[0] == pytest.approx(rewards.var(ddof=1) / 4)


def test_one_sample_shows_no_noise_and_says_so() -> None:
    with pytest.raises(SampleTooSmall, match="1 of 2 cells hold one sample"):
        Cells.of_counts({"b": ["x", "y"]}, n=[1, 2], passed=[1, 1]).noise()


REFUSED = {
    "more endings than trials": ({"n": [2], "passed": [2], "infra": [1]}, "at most n"),
    "a negative count": ({"n": [2], "passed": [-1]}, "none is negative"),
    "a fraction of a trial": ({"n": [2.5], "passed": [1]}, "whole numbers"),
    "a reward above 1": (
        {"n": [1], "passed": [1], "reward_sum": [1.5], "reward_sumsq": [1.5]},
        "0..1",
    ),
    "rewards without squares": ({"n": [1], "passed": [0], "reward_sum": [0.5]}, "both"),
    "columns of unequal length": ({"n": [1, 1], "passed": [0, 0]}, "one length"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_counts_that_contradict_each_other_are_refused(case: str) -> None:
    counts, says = REFUSED[case]
    with pytest.raises(DesignError, match=says):
        Cells.of_counts({"b": ["x"]}, **counts)


def test_an_unknown_factor_or_level_is_named_beside_those_there_are() -> None:
    cells = Cells.of_counts({"band": ["1x"]}, n=[1], passed=[1])
    with pytest.raises(DesignError, match="they have: band"):
        cells.by("node")
    with pytest.raises(DesignError, match="it has: 1x"):
        cells.select(band="2x")
