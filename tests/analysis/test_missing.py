"""Bounds under missing outcomes."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.cells import Cells
from infranoise.analysis.missing import (
    Bounds,
    as_passed,
    imbens_manski,
    imbens_manski_constant,
)
from infranoise.models.errors import DesignError

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())
CASES = {
    "wide": (Bounds(0.40, 0.45, 0.02, 0.02), 0.95),
    "narrow": (Bounds(0.40, 0.401, 0.02, 0.015), 0.95),
    "level": (Bounds(-0.01, 0.02, 0.012, 0.018), 0.90),
}


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_those_of_the_defining_equation(case: str) -> None:
    bounds, confidence = CASES[case]
    expected = R["imbens_manski"][case]
    assert imbens_manski_constant(bounds, confidence) == pytest.approx(expected["C"], rel=1e-10)
    found = imbens_manski(bounds, confidence)
    assert found == pytest.approx((expected["lo"], expected["hi"]), rel=1e-10)


def test_a_point_gets_the_two_sided_interval_and_wide_bounds_the_one_sided() -> None:
    assert imbens_manski_constant(Bounds(0.5, 0.5, 0.01, 0.02)) == pytest.approx(1.959964, abs=1e-6)
    assert imbens_manski_constant(Bounds(0.0, 1.0, 0.01, 0.02)) == pytest.approx(1.644854, abs=1e-6)


def test_bounds_without_errors_are_their_own_interval() -> None:
    assert imbens_manski(Bounds(0.2, 0.3, 0.0, 0.0)) == (0.2, 0.3)


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(1e-4, 0.2), st.floats(1e-4, 0.2))
@settings(max_examples=60)
def test_the_constant_lies_between_one_and_two_sided(
    lo: float, width: float, se_lo: float, se_hi: float
) -> None:
    constant = imbens_manski_constant(Bounds(lo, lo + width, se_lo, se_hi))
    assert 1.644853 <= constant <= 1.959965


def test_a_difference_of_bounds_is_widest_at_its_ends() -> None:
    gap = Bounds(0.4, 0.5, 0.03, 0.04).minus(Bounds(0.3, 0.45, 0.04, 0.03))
    assert (gap.lo, gap.hi) == pytest.approx((-0.05, 0.2))
    assert (gap.se_lo, gap.se_hi) == pytest.approx((0.03 * 2**0.5, 0.04 * 2**0.5))


def test_missing_outcomes_as_passes_are_the_upper_bound() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"]},
        n=[5, 4],
        passed=[2, 0],
        infra=[1, 3],
        reward_sum=[2.5, 0.5],
        reward_sumsq=[2.25, 0.25],
    )
    best = as_passed(cells)
    assert best.passed.tolist() == [3, 3]
    assert best.infra.tolist() == [0, 0]
    np.testing.assert_allclose(best.reward_sum, [3.5, 3.5])
    np.testing.assert_allclose(best.reward_sumsq, [3.25, 3.25])


def test_bounds_upside_down_are_refused() -> None:
    with pytest.raises(DesignError, match="must not lie below"):
        Bounds(0.5, 0.4, 0.1, 0.1)
    with pytest.raises(DesignError, match="confidence"):
        imbens_manski(Bounds(0.4, 0.5, 0.1, 0.1), confidence=1.0)
