"""Intervals of rates, estimates and components."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infranoise.analysis.intervals import (
    Interval,
    around,
    clopper_pearson,
    component,
    noncentrality,
    percentile,
    task_weights,
    wilson,
)
from infranoise.models.errors import DesignError, SampleTooSmall

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row for row in json.loads((GOLDEN / "effects.json").read_text())}
NEWCOMBE = [  # Newcombe (1998), Stat Med 17:857-872, table I, methods 3 (score) and 5 (exact)
    (81, 263, 0.2553, 0.3662, 0.2527, 0.3676),
    (15, 148, 0.0624, 0.1605, 0.0578, 0.1617),
    (0, 20, 0.0, 0.1611, 0.0, 0.1684),
    (1, 29, 0.0061, 0.1718, 0.0009, 0.1776),
]


@pytest.mark.parametrize(("hits", "n", "lo", "hi", "exact_lo", "exact_hi"), NEWCOMBE)
def test_rates_have_the_published_intervals(
    hits: int, n: int, lo: float, hi: float, exact_lo: float, exact_hi: float
) -> None:
    assert wilson(hits, n) == pytest.approx((lo, hi), abs=6e-5)
    assert clopper_pearson(hits, n) == pytest.approx((exact_lo, exact_hi), abs=6e-5)


def test_rates_have_the_intervals_of_r() -> None:
    found = R["C08b"]["expected"]
    assert wilson(19, 890) == pytest.approx((found["wilson_lo"], found["wilson_hi"]), rel=1e-7)
    exact = clopper_pearson(19, 890)
    assert exact == pytest.approx((found["cp_lo"], found["cp_hi"]), rel=1e-7)


@given(st.integers(1, 400), st.floats(0, 1))
def test_an_interval_holds_its_rate_and_mirrors_for_misses(n: int, share: float) -> None:
    hits = round(n * share)
    for method in (wilson, clopper_pearson):
        lo, hi = method(hits, n)
        assert 0.0 <= lo <= hits / n <= hi <= 1.0
        mirrored = method(n - hits, n)
        assert (1 - mirrored.hi, 1 - mirrored.lo) == pytest.approx((lo, hi), abs=1e-9)


def test_no_trials_or_impossible_hits_are_refused() -> None:
    with pytest.raises(SampleTooSmall):
        wilson(0, 0)
    with pytest.raises(DesignError, match="hits must lie"):
        clopper_pearson(3, 2)


@pytest.mark.parametrize(("x", "nu"), [(0.4, 1.7), (9.0, 3.2), (250.0, 5.0), (4e4, 11.0)])
def test_a_noncentrality_puts_the_asked_probability_below(x: float, nu: float) -> None:
    for probability in (0.025, 0.5, 0.975):
        found = noncentrality(x, nu, probability)
        if found == 0.0:
            assert stats.chi2.cdf(x, nu) <= probability
        else:
            assert stats.ncx2.cdf(x, nu, found) == pytest.approx(probability, abs=1e-8)


def test_far_out_the_noncentrality_goes_on_smoothly() -> None:
    below, above = (noncentrality(x, 5.0, 0.025) / x for x in (0.99e8, 1.01e8))
    assert below == pytest.approx(above, rel=1e-5)


def test_a_component_without_noise_has_no_interval() -> None:
    assert component(0.1, 0.0, 0.0) is None


def test_an_interval_round_an_estimate_is_normal_or_students() -> None:
    assert around(1.0, 2.0) == pytest.approx(Interval(1 - 2 * 1.959963985, 1 + 2 * 1.959963985))
    assert around(0.0, 1.0, df=4).hi == pytest.approx(2.776445105)


def test_bootstrap_weights_draw_every_task_once_on_average_and_repeat_with_their_seed() -> None:
    weights = task_weights(40, seed=3)
    assert weights.shape == (999, 40)
    assert set(weights.sum(axis=1)) == {40.0}
    assert np.array_equal(weights, task_weights(40, seed=3))
    assert percentile(np.arange(1001.0)) == pytest.approx((25.0, 975.0))
    with pytest.raises(SampleTooSmall):
        task_weights(1)
