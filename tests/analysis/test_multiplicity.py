"""Adjusted p-values."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.multiplicity import benjamini_hochberg, holm
from infranoise.models.errors import DesignError

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row for row in json.loads((GOLDEN / "effects.json").read_text())}
P = [0.0001, 0.004, 0.012, 0.03, 0.041, 0.20, 0.5]


def test_adjusted_p_values_are_those_of_r() -> None:
    assert holm(P) == pytest.approx(R["C11"]["expected"]["holm"], rel=1e-12)
    assert benjamini_hochberg(P) == pytest.approx(R["C11"]["expected"]["bh"], rel=1e-12)


@given(st.permutations(P))
def test_the_order_of_the_tests_does_not_matter(shuffled: list[float]) -> None:
    by_p = dict(zip(P, holm(P), strict=True))
    assert holm(shuffled) == [by_p[p] for p in shuffled]


def test_what_was_not_tested_counts_for_nothing() -> None:
    assert holm([None, 0.01, None, 0.04]) == [None, 0.02, None, 0.04]
    assert benjamini_hochberg([None]) == [None]


def test_a_p_value_outside_its_range_is_refused() -> None:
    with pytest.raises(DesignError, match="must lie in"):
        holm([0.2, 1.2])
