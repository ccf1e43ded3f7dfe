"""The monitor over rounds: its formula, its decisions, its promise."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.sequential import half_width, may_stop, monitor, round_sd, tuned_rho2
from infranoise.models.errors import DesignError, SampleTooSmall

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())["sequence"]


def test_tuning_and_half_widths_are_those_of_r() -> None:
    assert tuned_rho2(8) == pytest.approx(R["rho2"], rel=1e-12)
    assert half_width([3, 8, 20], 0.05, tuned_rho2(8)) == pytest.approx(R["half"], rel=1e-12)
    rho2 = tuned_rho2(20, alpha=0.01)
    assert rho2 == pytest.approx(R["rho2_20"], rel=1e-12)
    assert half_width(12, 0.03, rho2, alpha=0.01) == pytest.approx(R["half_20"], rel=1e-12)


@given(st.integers(1, 500), st.integers(1, 60))
@settings(max_examples=40)
def test_the_sequence_is_nearly_tightest_where_it_is_tuned(rounds: int, other: int) -> None:
    tuned = half_width(rounds, 1.0, tuned_rho2(rounds))
    assert tuned <= 1.01 * half_width(rounds, 1.0, tuned_rho2(other))


STORIES = {
    "a large lift is a difference": ([0.06] * 12, 0.03, "difference", 3),
    "a large drop is a difference": ([-0.06] * 12, 0.03, "difference", 3),
    "no lift is equivalent in time": ([0.0, 0.001] * 20, 0.03, "equivalent", 10),
    "a middling lift stays open": ([0.02] * 6, 0.05, "continue", None),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_run_may_stop_when_the_sequence_says_so(story: str) -> None:
    differences, sigma, decision, at = STORIES[story]
    read = monitor(differences, margin=0.03, sigma=sigma)
    assert (read.decision, read.decided_at) == (decision, at)
    assert read.rounds == len(differences)
    assert read.may_stop == (decision != "continue")


def test_a_decision_stays_when_later_rounds_disagree() -> None:
    read = monitor([0.06] * 4 + [-0.06] * 4, margin=0.03, sigma=0.03)
    assert read.decision == "difference"
    assert read.est == pytest.approx(0.0)
    assert read.lo < 0.0 < read.hi


def test_rounds_without_spread_decide_nothing() -> None:
    assert not monitor([0.0] * 30, margin=0.03).may_stop
    assert not monitor([0.0] * 30, margin=0.03, sigma=0.0).may_stop


def test_a_spread_of_few_rounds_decides_nothing() -> None:
    assert not monitor([0.0301, 0.0302, 0.0301], margin=0.03).may_stop
    assert monitor([0.0301, 0.0302, 0.0301, 0.0302], margin=0.03).may_stop


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=40), st.floats(0.005, 0.2))
@settings(max_examples=60)
def test_swapping_the_bands_mirrors_the_monitor(differences: list[float], margin: float) -> None:
    read = monitor(differences, margin=margin)
    swapped = monitor([-d for d in differences], margin=margin)
    assert (swapped.decision, swapped.decided_at) == (read.decision, read.decided_at)
    assert (swapped.lo, swapped.hi) == pytest.approx((-read.hi, -read.lo))


def test_all_contrasts_must_be_decided_before_a_run_stops() -> None:
    decided = monitor([0.06] * 12, margin=0.03, sigma=0.03)
    open_still = monitor([0.02] * 6, margin=0.03, sigma=0.05)
    assert may_stop([decided, decided])
    assert not may_stop([decided, open_still])
    assert not may_stop([])


def test_peeking_every_round_keeps_false_alarms_rare() -> None:
    rng = np.random.default_rng(7)
    rounds = rng.normal(0.0, 0.05, size=(2_000, 40))
    means = np.cumsum(rounds, axis=1) / np.arange(1, 41)
    half = half_width(np.arange(1, 41), 0.05, tuned_rho2(8))
    alarms = (np.abs(means) > half).any(axis=1).mean()
    assert alarms < 0.05


def test_the_spread_of_a_round_is_two_trials_per_task() -> None:
    assert round_sd(0.095, 89, 4) == pytest.approx((2 * 0.095 / (89 * 4)) ** 0.5)


def test_what_cannot_be_monitored_is_refused() -> None:
    with pytest.raises(SampleTooSmall, match="no complete round"):
        monitor([], margin=0.03)
    with pytest.raises(DesignError, match="margin"):
        monitor([0.1], margin=0.0)
    with pytest.raises(DesignError, match="finite"):
        monitor([float("nan")], margin=0.1)
    with pytest.raises(DesignError, match="rounds"):
        tuned_rho2(0)
