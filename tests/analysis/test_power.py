"""Sizes and detectable effects, against R and against their own laws."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.power import (
    Design,
    contrast_power,
    detectable_effect,
    equivalence_power,
    samples_for_effect,
    samples_for_equivalence,
    two_proportion_size,
)
from infranoise.models.errors import DesignError

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())
ARTICLE = Design(tasks=89, within=0.095)

designs = st.builds(
    Design,
    tasks=st.integers(2, 300),
    within=st.floats(0.01, 0.25),
    entries=st.integers(1, 6),
    tau2=st.just(0.0),
)


def test_the_naive_size_is_that_of_power_prop_test() -> None:
    assert two_proportion_size(0.058, 0.021) == pytest.approx(R["two_proportions"]["a"], rel=1e-9)
    assert two_proportion_size(0.42, 0.48, alpha=0.01, power=0.9) == pytest.approx(
        R["two_proportions"]["b"], rel=1e-9
    )


@pytest.mark.parametrize(("samples", "mde"), [*zip([5, 10, 20, 40], R["mde"]["K"], strict=True)])
def test_detectable_effects_of_the_article_design_are_those_of_r(samples: int, mde: float) -> None:
    assert detectable_effect(ARTICLE, samples) == pytest.approx(mde, rel=1e-11)


def test_new_tasks_and_stricter_levels_are_those_of_r() -> None:
    new = Design(tasks=89, within=0.095, entries=4, tau2=0.0072)
    assert detectable_effect(new, 10) == pytest.approx(R["mde"]["new_tasks"], rel=1e-11)
    small = Design(tasks=40, within=0.11, entries=3)
    strict = detectable_effect(small, 5, alpha=0.01, power=0.9)
    assert strict == pytest.approx(R["mde"]["strict"], rel=1e-11)


def test_power_counts_both_tails() -> None:
    assert contrast_power(0.02, ARTICLE, 20) == pytest.approx(R["power"]["a"], rel=1e-12)
    assert contrast_power(-0.002, ARTICLE, 5) == pytest.approx(R["power"]["b"], rel=1e-12)
    assert contrast_power(0.0, ARTICLE, 5) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("margin", "lift", "name"), [(0.03, 0.01, "a"), (0.03, 0.0, "b"), (0.02, -0.005, "c")]
)
def test_equivalence_sizes_are_those_of_r(margin: float, lift: float, name: str) -> None:
    found = samples_for_equivalence(margin, ARTICLE, lift=lift)
    assert found == pytest.approx(R["tost"][name], rel=1e-8)


def test_the_closed_form_of_tost_is_close_where_the_far_margin_does_not_count() -> None:
    found = samples_for_equivalence(0.03, ARTICLE, lift=0.01)
    assert found == pytest.approx(R["tost"]["closed_a"], rel=1e-4)


@given(designs, st.floats(0.005, 0.3), st.floats(0.55, 0.99))
@settings(max_examples=60)
def test_the_size_for_an_effect_makes_it_the_detectable_one(
    design: Design, effect: float, power: float
) -> None:
    samples = samples_for_effect(effect, design, power=power)
    assert detectable_effect(design, samples, power=power) == pytest.approx(effect)


@given(designs, st.floats(0.005, 0.1), st.floats(-0.95, 0.95), st.floats(0.3, 0.99))
@settings(max_examples=60)
def test_the_size_for_equivalence_has_its_power(
    design: Design, margin: float, share: float, power: float
) -> None:
    lift = share * margin
    samples = samples_for_equivalence(margin, design, lift=lift, power=power)
    assert equivalence_power(margin, design, samples, lift=lift) == pytest.approx(power, abs=1e-6)


@given(designs, st.integers(1, 50))
@settings(max_examples=30)
def test_samples_and_entries_are_worth_the_same_on_these_tasks(design: Design, k: int) -> None:
    wider = Design(design.tasks, design.within, design.entries * k)
    assert detectable_effect(design, k) == pytest.approx(detectable_effect(wider, 1))


def test_no_number_of_samples_outweighs_tasks_that_differ() -> None:
    few = Design(tasks=20, within=0.1, tau2=0.02)
    with pytest.raises(DesignError, match="add tasks to the 20"):
        samples_for_effect(0.02, few)
    with pytest.raises(DesignError, match="add tasks to the 20"):
        samples_for_equivalence(0.02, few)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (lambda: Design(tasks=0, within=0.1), "0 tasks"),
        (lambda: Design(tasks=5, within=0.0), "within-cell variance"),
        (lambda: Design(tasks=5, within=0.3), "within-cell variance"),
        (lambda: Design(tasks=5, within=0.1, tau2=-0.1), "tau2"),
        (lambda: Design(tasks=5, within=0.1, tau2=math.nan), "tau2"),
        (lambda: ARTICLE.se(0), "samples per cell"),
        (lambda: samples_for_effect(0.0, ARTICLE), "0 points"),
        (lambda: samples_for_equivalence(0.03, ARTICLE, lift=0.03), "not inside a margin"),
        (lambda: detectable_effect(ARTICLE, 5, alpha=0.0), "alpha"),
        (lambda: detectable_effect(ARTICLE, 5, power=0.01), "below the test's size"),
        (lambda: two_proportion_size(0.2, 0.2), "two different values"),
    ],
)
def test_what_cannot_be_sized_is_refused(asked: object, why: str) -> None:
    with pytest.raises(DesignError, match=why):
        asked()  # type: ignore[operator]
