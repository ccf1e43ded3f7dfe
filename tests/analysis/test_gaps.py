"""Gaps between entries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.flags import Flag
from infranoise.analysis.gaps import compare, gaps
from infranoise.models.errors import DesignError, SampleTooSmall

TASKS = 12


def _board(rates: dict[str, float], n: int = 20, infra: dict[str, int] | None = None) -> Cells:
    """A leaderboard on 12 tasks whose difficulty alternates; rates differ by entry."""
    missing = infra or {}
    rows = [
        (str(t), entry, n, round(n * (rate + (0.2 if t % 2 else -0.2))), missing.get(entry, 0))
        for entry, rate in rates.items()
        for t in range(TASKS)
    ]
    task, entry, size, passed, errors = zip(*rows, strict=True)
    return Cells.of_counts({"task": task, "entry": entry}, n=size, passed=passed, infra=errors)


def test_a_gap_by_hand() -> None:
    cells = Cells.of_counts(
        {"task": ["s", "s", "t", "t"], "entry": ["a", "b", "a", "b"]},
        n=[5, 5, 5, 5],
        passed=[4, 1, 3, 2],
        infra=[1, 2, 0, 0],
    )
    gap = compare(cells, "a", "b")
    assert gap.est == pytest.approx(0.4)
    assert gap.se_same == pytest.approx(np.sqrt(0.16 / 4 + 0.16 / 4 + 0.24 / 4 + 0.24 / 4) / 2)
    assert gap.se_new == pytest.approx(0.2)
    assert gap.bounds == pytest.approx((0.2, 0.5))
    assert gap.bounds_ci is not None
    assert gap.bounds_ci.lo < gap.bounds.lo
    assert gap.bounds_ci.hi > gap.bounds.hi
    assert (gap.p_holm_same, gap.p_holm_new) == (gap.p_same, gap.p_new)


def test_the_word_depends_on_what_was_not_matched() -> None:
    cells = _board({"a": 0.55, "b": 0.40})
    assert compare(cells, "a", "b").verdict == "CREDIBLE"
    assert compare(cells, "a", "b", phi=0.1**2).verdict == "ONLY IF MATCHED"
    assert compare(cells, "a", "b", phi=0.1**2, configurations="matched").verdict == "CREDIBLE"
    worst = compare(cells, "a", "b", spread=0.3, configurations="worst_case")
    assert worst.verdict == "ONLY IF MATCHED"
    assert compare(_board({"a": 0.45, "b": 0.40}), "a", "b").verdict == "NOISE"


def test_a_board_is_ranked_and_tied() -> None:
    table = gaps(_board({"low": 0.30, "mid": 0.50, "top": 0.55}))
    assert table.ranked == ("top", "mid", "low")
    assert [(g.a, g.b) for g in table.pairs] == [("top", "mid"), ("top", "low"), ("mid", "low")]
    assert table.tie_groups == (("top", "mid"), ("low",))
    for pair in table.pairs:
        assert pair.p_same is not None
        assert pair.p_holm_same is not None
        assert pair.p_holm_same >= pair.p_same


def test_a_pair_is_only_apart_after_holm() -> None:
    """One gap in 15 that is significant by itself does not separate two entries."""
    rates = {name: 0.40 + 0.022 * k for k, name in enumerate("abcdef")}
    table = gaps(_board(rates, n=50), configurations="matched")
    alone = [g for g in table.pairs if g.verdict == "CREDIBLE"]
    kept = [g for g in alone if g.p_holm_same is not None and g.p_holm_same < 0.05]
    assert len(kept) < len(alone)
    assert len(table.tie_groups) > 1


def test_bands_are_compared_within() -> None:
    """An entry that ran more trials at the easy band gains nothing by it."""
    cells = Cells.of_counts(
        {
            "task": ["s", "s", "s", "s"],
            "entry": ["a", "a", "b", "b"],
            "band": ["1x", "3x", "1x", "3x"],
        },
        n=[10, 90, 50, 50],
        passed=[2, 72, 10, 40],
    )
    assert compare(cells, "a", "b").est == pytest.approx(0.0)


def test_missing_outcomes_can_decide_the_winner() -> None:
    gap = compare(_board({"a": 0.5, "b": 0.45}, infra={"b": 3}), "a", "b")
    assert gap.est > 0
    assert gap.bounds.lo < 0


def test_single_samples_borrow_their_noise_and_say_so() -> None:
    rng = np.random.default_rng(5)
    tasks = [str(t) for t in range(40)] * 2
    cells = Cells.of_counts(
        {"task": tasks, "entry": ["a"] * 40 + ["b"] * 40},
        n=[1] * 80,
        passed=rng.integers(0, 2, 80),
    )
    gap = compare(cells, "a", "b")
    assert Flag.SINGLE_SAMPLES in gap.flags
    assert gap.se_same is not None
    assert gap.se_same > 0


def test_entries_without_a_common_task_are_named() -> None:
    cells = Cells.of_counts(
        {"task": ["s", "t", "s", "t"], "entry": ["a", "b", "c", "c"]},
        n=[9, 9, 9, 9],
        passed=[3, 4, 5, 6],
    )
    table = gaps(cells)
    assert {frozenset(pair) for pair in table.unpaired} == {frozenset("ab")}
    assert len(table.pairs) == 2
    with pytest.raises(SampleTooSmall, match="nothing to compare"):
        compare(cells, "a", "b")


rates = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=6)


@given(rates)
@settings(max_examples=50)
def test_swapping_a_and_b_mirrors_the_gap(pairs: list[tuple[int, int]]) -> None:
    cells = Cells.of_counts(
        {
            "task": [str(t) for t in range(len(pairs)) for _ in "ab"],
            "entry": ["a", "b"] * len(pairs),
        },
        n=[5] * (2 * len(pairs)),
        passed=[count for pair in pairs for count in pair],
    )
    one, other = compare(cells, "a", "b"), compare(cells, "b", "a")
    assert other.est == pytest.approx(-one.est)
    assert other.p_same == one.p_same
    assert other.verdict == one.verdict
    assert other.bounds == pytest.approx((-one.bounds.hi, -one.bounds.lo))
    numbers = (one.se_same, one.se_new, one.p_same, one.p_new, one.matched, *one.bounds)
    assert all(value is None or np.isfinite(value) for value in numbers)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(DesignError, match="two entries"):
        gaps(_board({"a": 0.5}))
    with pytest.raises(DesignError, match="no level 'z'"):
        compare(_board({"a": 0.5}), "a", "z")
