"""How far apart two scores must be."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.credible import Configurations, credible_gap, verdict
from infranoise.models.errors import DesignError

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())["gap"]


def test_the_thresholds_of_the_leaderboard_example_are_those_of_r() -> None:
    gap = credible_gap(1.83, phi=0.72**2, spread=1.95)
    assert gap.matched == pytest.approx(R["matched"], rel=1e-12)
    assert gap.exchangeable == pytest.approx(R["exchangeable"], rel=1e-12)
    assert gap.worst_case == pytest.approx(R["worst"], rel=1e-12)


@given(st.floats(1e-4, 10), st.floats(-1, 10), st.floats(0, 10))
@settings(max_examples=60)
def test_knowing_less_never_lowers_the_threshold(se: float, phi: float, spread: float) -> None:
    gap = credible_gap(se, phi, spread)
    assert gap.matched <= gap.exchangeable
    assert gap.matched <= gap.worst_case


WORDS: list[tuple[float, Configurations, str]] = [
    (3.0, "exchangeable", "NOISE"),
    (-3.8, "exchangeable", "ONLY IF MATCHED"),
    (4.5, "exchangeable", "CREDIBLE"),
    (4.5, "worst_case", "ONLY IF MATCHED"),
    (5.0, "worst_case", "CREDIBLE"),
    (-3.8, "matched", "CREDIBLE"),
]


@pytest.mark.parametrize(("est", "configurations", "word"), WORDS)
def test_the_word_says_what_a_gap_exceeds(
    est: float, configurations: Configurations, word: str
) -> None:
    assert verdict(est, credible_gap(1.83, 0.72**2, 1.95), configurations) == word


def test_a_threshold_without_an_error_is_refused() -> None:
    with pytest.raises(DesignError, match="se 0"):
        credible_gap(0.0)
    with pytest.raises(DesignError, match="spread -1"):
        credible_gap(1.0, spread=-1.0)
    with pytest.raises(DesignError, match="confidence"):
        credible_gap(1.0, confidence=0.0)
