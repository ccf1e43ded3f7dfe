"""O'Brien-Fleming bounds, against print and against R's multivariate normal."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.obrien_fleming import declare_looks, obrien_fleming_constant
from infranoise.models.errors import DesignError

R = json.loads((Path(__file__).parents[1] / "golden" / "closed_forms.json").read_text())


@pytest.mark.parametrize(("looks", "constant"), R["obf_print"].items())
def test_the_constants_are_those_in_print(looks: str, constant: float) -> None:
    assert obrien_fleming_constant(int(looks)) == pytest.approx(constant, abs=5e-4)


@pytest.mark.parametrize(
    ("looks", "alpha", "fractions", "name"),
    [
        (2, 0.05, None, "K2"),
        (3, 0.05, None, "K3"),
        (4, 0.05, None, "K4"),
        (5, 0.05, None, "K5"),
        (3, 0.01, None, "K3_01"),
        (3, 0.05, [0.2, 0.5, 1.0], "uneven"),
    ],
)
def test_the_constants_are_those_of_the_multivariate_normal(
    looks: int, alpha: float, fractions: list[float] | None, name: str
) -> None:
    constant = obrien_fleming_constant(looks, alpha, fractions)
    assert constant == pytest.approx(R["obf"][name], abs=2e-8)


def test_one_look_is_an_ordinary_test() -> None:
    (look,) = declare_looks(1)
    assert (look.z, look.p) == pytest.approx((1.959964, 0.05), abs=1e-6)


@given(st.integers(2, 8), st.sampled_from([0.01, 0.05, 0.1]))
@settings(max_examples=8, deadline=None)
def test_bounds_fall_and_the_last_costs_little(looks: int, alpha: float) -> None:
    bounds = declare_looks(looks, alpha)
    zs = [look.z for look in bounds]
    assert zs == sorted(zs, reverse=True)
    assert bounds[-1].fraction == pytest.approx(1.0)
    assert alpha / 2 < bounds[-1].p < alpha


def test_a_look_stops_when_its_bound_is_reached() -> None:
    early, last = declare_looks(2)
    assert not early.stops(est=0.025, se=0.01)
    assert last.stops(est=-0.025, se=0.01)


def test_looks_that_cannot_be_declared_are_refused() -> None:
    with pytest.raises(DesignError, match="1 or more"):
        obrien_fleming_constant(0)
    with pytest.raises(DesignError, match="increasing fractions"):
        obrien_fleming_constant(2, fractions=[0.5, 0.9])
    with pytest.raises(DesignError, match="alpha"):
        obrien_fleming_constant(2, alpha=1.0)
    with pytest.raises(DesignError, match="standard error"):
        declare_looks(2)[0].stops(est=0.1, se=0.0)
