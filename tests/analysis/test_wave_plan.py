"""Waves: what a factor that is set per wave needs."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.waves import FEWEST_WAVES, WavePlan, plan_waves, smallest_p, wave_power
from infranoise.models.errors import DesignError

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())


def _plan(levels: int = 2, waves: int = 10, effect: float = 0.05, shock: float = 0.01) -> WavePlan:
    return plan_waves(
        "concurrency",
        levels,
        waves,
        effect=effect,
        sd_shock=shock,
        within=0.1,
        trials_per_wave=100,
    )


@pytest.mark.parametrize(
    ("waves", "levels", "p"),
    [(6, 2, 0.1), (8, 2, 2 / 70), (7, 2, 1 / 35), (9, 3, 0.1), (2, 2, 1.0)],
)
def test_few_waves_have_few_arrangements(waves: int, levels: int, p: float) -> None:
    assert smallest_p(waves, levels) == pytest.approx(p)


def test_power_between_two_levels_of_waves_is_that_of_power_t_test() -> None:
    assert wave_power(0.03, 5, 0.02, levels=2, alpha=0.05) == pytest.approx(R["wave_power"])


def test_fewer_than_eight_waves_are_not_testable() -> None:
    plan = _plan(waves=7)
    assert not plan.testable
    assert plan.reason == "not testable: 7 waves, at least 8 are needed"


def test_every_level_needs_two_waves() -> None:
    assert not _plan(levels=6, waves=11).testable
    assert _plan(levels=6, waves=12).testable


def test_a_testable_factor_may_still_need_more_waves_for_its_effect() -> None:
    plan = _plan(effect=0.01, shock=0.02)
    assert plan.testable
    assert plan.needed > plan.waves
    assert "are needed for the asked effect" in plan.reason


@given(st.integers(2, 5), st.floats(0.01, 0.2), st.floats(0.0, 0.05))
@settings(max_examples=25, deadline=None)
def test_the_needed_waves_are_the_fewest_that_have_the_power(
    levels: int, effect: float, shock: float
) -> None:
    needed = _plan(levels=levels, effect=effect, shock=shock).needed
    sd = (shock**2 + 0.1 / 100) ** 0.5
    per_level = needed // levels
    if needed > FEWEST_WAVES:
        assert wave_power(effect, per_level, sd, levels=levels, alpha=0.05) >= 0.80
    if needed > FEWEST_WAVES and per_level > 2:
        assert wave_power(effect, per_level - 1, sd, levels=levels, alpha=0.05) < 0.80


def test_what_has_no_contrast_is_refused() -> None:
    with pytest.raises(DesignError, match="no contrast"):
        _plan(levels=1)
    with pytest.raises(DesignError, match="out of range"):
        _plan(effect=0.0)
    with pytest.raises(DesignError, match="out of reach"):
        _plan(effect=1e-5)
