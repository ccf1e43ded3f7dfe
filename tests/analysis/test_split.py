"""A lift in two parts: rescued kills and changed strategies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.arrays import Ints
from infranoise.analysis.cells import Cells
from infranoise.analysis.lift_parts import Parts
from infranoise.analysis.replayed import Replays
from infranoise.analysis.split import Split, split, split_bounds
from infranoise.models.errors import DesignError, SampleTooSmall


def _cells(low: Ints, high: Ints, n: int) -> Cells:
    """Rows (passed, infra errors) by task at the floor and at the ceiling."""
    tasks = [str(t) for t in range(len(low))]
    both = np.concatenate([low, high])
    return Cells.of_counts(
        {
            "task": tasks * 2,
            "entry": ["e"] * len(both),
            "band": ["1x"] * len(low) + ["3x"] * len(high),
        },
        n=[n] * len(both),
        passed=both[:, 0],
        infra=both[:, 1],
    )


def _replays(low: Ints, passed: Ints) -> Replays:
    killed = low[:, 1]
    tasks = [str(t) for t in np.flatnonzero(killed)]
    return Replays(_by_task(tasks, killed[killed > 0], passed))


def _by_task(tasks: list[str], n: Ints | list[int], passed: Ints | list[int]) -> Cells:
    return Cells.of_counts({"task": tasks, "entry": ["e"] * len(tasks)}, n=n, passed=passed)


LOW = np.array([(4, 3), (2, 0), (5, 5), (9, 0), (0, 6)])
HIGH = np.array([(6, 1), (3, 0), (9, 0), (9, 1), (1, 2)])


def _small(replays: bool = False) -> Split:
    again = _replays(LOW, np.array([2, 4, 1])) if replays else None
    return split(_cells(LOW, HIGH, 10), "3x", "1x", again)


ARTICLE = {"1x to uncapped": (6.0, 5.3, 0.7, 6.0), "3x to uncapped": (4.0, 1.6, 2.4, 4.0)}


@pytest.mark.parametrize("case", ARTICLE)
def test_the_bounds_of_the_article(case: str) -> None:
    lift, drop, least, most = ARTICLE[case]
    rescue, strategy = split_bounds(lift, drop)
    assert rescue == pytest.approx((0.0, drop))
    assert strategy == pytest.approx((least, most))


def test_errors_that_did_not_drop_leave_nothing_to_rescue() -> None:
    rescue, strategy = split_bounds(2.0, -0.5)
    assert (rescue, strategy) == ((0.0, 0.0), (2.0, 2.0))


def test_a_split_by_hand() -> None:
    found = _small()
    assert found.lift == pytest.approx(8 / 50)
    assert found.error_drop == pytest.approx(10 / 50)
    assert found.rescue == pytest.approx((0.0, 0.2))
    assert found.strategy == pytest.approx((-0.04, 0.16))
    # task by task: drop times the pass rate of what the ceiling did not kill
    by_task = [0.2 * 6 / 9, 0.0, 0.5 * 9 / 10, -0.1 * 9 / 9, 0.4 * 1 / 8]
    assert found.mar.rescue == pytest.approx(np.mean(by_task))
    assert found.replayed is None


def test_a_replay_counts_killed_trials_that_pass_at_the_ceiling() -> None:
    parts = _small(replays=True).replayed
    assert parts is not None
    assert parts.rescue == pytest.approx((2 + 4 + 1) / 50)
    rates = np.array([0.2, 0.0, 0.4, 0.0, 0.1])
    assert parts.se_rescue_same == pytest.approx(np.sqrt(np.sum(rates * (1 - rates) / 9)) / 5)


def _sums_to_lift(found: Split, parts: Parts) -> None:
    assert parts.rescue + parts.strategy == pytest.approx(found.lift, abs=1e-12)


counts = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)),
    min_size=1,
    max_size=8,
)


@given(counts, st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_parts_always_sum_to_the_lift_and_never_lack_an_error(
    drawn: list[tuple[int, int, int, int]], random: object
) -> None:
    low = np.array([(min(p, 6 - k), k) for p, k, _, _ in drawn])
    high = np.array([(min(p, 6 - k), k) for _, _, p, k in drawn])
    killed = low[:, 1][low[:, 1] > 0]
    replays = _replays(low, killed // 2) if killed.size else None
    found = split(_cells(low, high, 6), "3x", "1x", replays)
    for parts in (found.mar, found.replayed):
        if parts is not None:
            _sums_to_lift(found, parts)
            assert parts.se_rescue_same is not None
            assert parts.se_strategy_same is not None
            assert np.isfinite([parts.se_rescue_same, parts.se_strategy_same]).all()
    assert found.strategy.lo <= found.strategy.hi
    assert found.monotone == (found.error_drop >= 0)


def test_replay_is_unbiased_and_its_errors_are_honest() -> None:
    rng = np.random.default_rng(11)
    tasks, n, repeats = 40, 8, 300
    kill = rng.beta(1, 8, tasks)
    rescued = 0.3 * rng.random(tasks)  # P(pass at the ceiling | killed at the floor)
    passing, lifted = 0.6 * rng.random(tasks), 0.05
    truth = float(np.mean(kill * rescued))
    rescues, errors, strategies, strategy_errors = [], [], [], []
    for _ in range(repeats):
        killed = rng.binomial(n, kill)
        passed = rng.binomial(n - killed, passing)
        again = rng.binomial(killed, rescued)
        high = rng.binomial(n, kill * rescued + (1 - kill) * (passing + lifted))
        low = np.column_stack([passed, killed])
        cells = _cells(low, np.column_stack([high, np.zeros(tasks, int)]), n)
        parts = split(cells, "3x", "1x", _replays(low, again[killed > 0])).replayed
        assert parts is not None
        rescues.append(parts.rescue)
        errors.append(parts.se_rescue_same or 0.0)
        strategies.append(parts.strategy)
        strategy_errors.append(parts.se_strategy_same or 0.0)
    assert np.mean(rescues) == pytest.approx(truth, abs=4 * np.std(rescues) / repeats**0.5)
    strategy = float(np.mean((1 - kill) * lifted))
    assert np.mean(strategies) == pytest.approx(strategy, abs=4 * np.std(strategies) / repeats**0.5)
    assert np.mean(errors) == pytest.approx(np.std(rescues), rel=0.15)
    assert np.mean(strategy_errors) == pytest.approx(np.std(strategies), rel=0.15)


def test_single_samples_have_no_same_task_error() -> None:
    cells = _cells(np.array([(1, 0), (0, 1)]), np.array([(1, 0), (1, 0)]), 1)
    assert split(cells, "3x", "1x").mar.se_rescue_same is None


def test_a_split_that_cannot_be_made_is_refused() -> None:
    cells = _cells(LOW, HIGH, 10)
    with pytest.raises(DesignError, match="named twice"):
        split(cells, "3x", "3x")
    partial = Replays(_by_task(["0"], [3], [1]))
    with pytest.raises(SampleTooSmall, match="11 killed trials without a replay"):
        split(cells, "3x", "1x", partial)
    doubled = Replays(_by_task(["0", "2", "4"], [4, 5, 6], [1, 1, 1]))
    with pytest.raises(DesignError, match="more replays than killed"):
        split(cells, "3x", "1x", doubled)
    strange = Replays(_by_task(["9"], [1], [1]))
    with pytest.raises(DesignError, match="never run"):
        split(cells, "3x", "1x", strange)
    invented = Replays(_by_task(["1"], [1], [1]), killed=_by_task(["1"], [1], [0]))
    with pytest.raises(DesignError, match="more killed trials than infra errors"):
        split(cells, "3x", "1x", invented)


def test_infra_errors_that_were_no_kills_are_not_rescued() -> None:
    """Task 4 lost six trials to the network, of which no ceiling would have saved one."""
    kills = {"0": 3, "2": 5}
    found = split(
        _cells(LOW, HIGH, 10),
        "3x",
        "1x",
        Replays(
            _by_task(list(kills), list(kills.values()), [2, 4]),
            killed=_by_task(list(kills), list(kills.values()), [0, 0]),
        ),
    ).replayed
    assert found is not None
    assert found.rescue == pytest.approx((2 + 4) / 50)
    assert (found.killed, found.replays, found.passed) == (8, 8, 6)
    assert found.rescue_ci is not None
    assert found.rescue_ci.lo < found.rescue < found.rescue_ci.hi
