"""Specification of the leaderboard: place ranges, letters, neighbours, and who leads without."""

import numpy as np
import pytest

from infranoise.analysis.cells import Cells
from infranoise.analysis.configuration import ITEMS, Configuration
from infranoise.analysis.leaderboard import leaderboard
from infranoise.analysis.side import Side
from infranoise.analysis.unmatched import Unmatched
from infranoise.models.errors import DesignError

TASKS = [f"t{k}" for k in range(30)]
NOWHERE = Configuration(dict.fromkeys(ITEMS, ()), {})


def side(name: str = "board", band: str = "1x", **entries: tuple[float, float]) -> Side:
    """Entries with (passes, infra errors) of 20 per task; fractions alternate between tasks."""
    rows = [
        (task, entry, int(passed + (k % 2) * 2 * (passed % 1)), int(infra))
        for entry, (passed, infra) in entries.items()
        for k, task in enumerate(TASKS)
    ]
    tasks, names, passes, errors = map(list, zip(*rows, strict=True))
    cells = Cells.of_counts(
        {"task": tasks, "entry": names, "band": [band] * len(rows)},
        n=np.full(len(rows), 20),
        passed=passes,
        infra=errors,
    )
    return Side(name, cells, NOWHERE)


def test_places_are_ranges_and_letters_are_ties() -> None:
    found = leaderboard([side(good=(14, 0), near=(13.5, 0), far=(8, 0))])
    told = {row.entry: (row.best, row.worst, row.groups) for row in found.rows}
    assert told == {"good": (1, 2, "a"), "near": (1, 2, "a"), "far": (3, 3, "b")}
    assert found.tie_groups == (("good", "near"), ("far",))
    assert "1 can be told apart on these tasks (near above far)" in found.sentence


def test_a_noise_budget_ties_what_sampling_alone_tells_apart() -> None:
    board = side(good=(14, 0), far=(12, 0))
    assert [row.groups for row in leaderboard([board]).rows] == ["a", "b"]
    noisy = leaderboard([board], noise=Unmatched(phi=0.1**2, spread=0.2))
    assert [row.groups for row in noisy.rows] == ["a", "a"]
    assert "none can be told apart" in noisy.sentence


def test_scores_stand_three_ways_and_may_change_who_leads() -> None:
    found = leaderboard([side(first=(12, 0), second=(11, 4))])
    first, second = found.rows
    assert (first.score.strict.est, second.score.strict.est) == pytest.approx((0.6, 0.55))
    assert second.score.excluded is not None
    assert second.score.excluded.est == pytest.approx(11 / 16)
    assert second.score.bounds == pytest.approx((0.55, 0.75))
    assert (second.infra_errors, second.infra_rate.est) == (120, pytest.approx(0.2))
    assert "with them left out, second leads" in found.sentence


def test_boards_are_put_together_and_equal_names_told_apart() -> None:
    found = leaderboard([side("mine", a=(14, 0)), side("yours", a=(8, 0), b=(2, 0))])
    assert [row.entry for row in found.rows] == ["a (mine)", "a (yours)", "b"]
    assert found.bands == ("1x",)


def test_entries_of_different_bands_are_compared_all_the_same_and_it_says_so() -> None:
    found = leaderboard([side("x", "1x", a=(14, 0)), side("y", "3x", b=(8, 0))])
    assert found.bands == ()
    assert [row.worst for row in found.rows] == [1, 2]


def test_one_entry_is_no_leaderboard() -> None:
    with pytest.raises(DesignError, match="two entries"):
        leaderboard([side(a=(14, 0))])
