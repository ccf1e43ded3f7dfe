"""Bands: floors and ceilings as multiples of a spec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infranoise.models.band import Band, Share
from infranoise.models.errors import DesignError
from infranoise.models.spec import MIB, Spec

SPEC = Spec(cpus=2, memory_mib=2048, storage_mib=10240)


@pytest.mark.parametrize(
    ("text", "floor", "ceiling"),
    [("1x", 1.0, 1.0), ("1.5x", 1.0, 1.5), ("3x", 1.0, 3.0), ("uncapped", 1.0, "uncapped")],
)
def test_a_shorthand_moves_the_memory_ceiling_alone(
    text: str, floor: float, ceiling: float | str
) -> None:
    band = Band.shorthand(text)
    assert band.memory == Share(floor=floor, ceiling=ceiling)
    assert band.cpu.ceiling == band.storage.ceiling == "uncapped"


@pytest.mark.parametrize("text", ["3", "x3", "0.5x", "three", "", "3X", "1x "])
def test_what_is_no_shorthand_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(DesignError, match="write a multiple"):
        Band.shorthand(text)


def test_a_band_scales_a_spec() -> None:
    band = Band(
        name="tight",
        memory=Share(floor=1, ceiling=3),
        cpu=Share(floor=0.5, ceiling=1),
        storage=Share(floor=None, ceiling=2),
        swap=0.5,
    )
    limits = band.limits(SPEC)
    assert limits.memory_floor_bytes == 2048 * MIB
    assert limits.memory_ceiling_bytes == 3 * 2048 * MIB
    assert (limits.cpu_floor, limits.cpu_ceiling) == (1.0, 2.0)
    assert (limits.storage_floor_bytes, limits.storage_ceiling_bytes) == (None, 20480 * MIB)
    assert limits.swap_bytes == 1024 * MIB


def test_an_undeclared_spec_under_a_ceiling_is_refused_by_name() -> None:
    with pytest.raises(DesignError, match=r"band 2x: its memory ceiling .* default_spec"):
        Band.shorthand("2x").limits(Spec())


def test_an_undeclared_spec_without_a_ceiling_is_no_matter() -> None:
    assert Band.shorthand("uncapped").limits(Spec()).memory_ceiling_bytes is None


def test_a_ceiling_below_its_floor_is_refused() -> None:
    with pytest.raises(ValidationError, match="raise the ceiling or lower the floor"):
        Share(floor=2, ceiling=1)


multiples = st.floats(min_value=1, max_value=100)


@given(multiples, multiples, st.floats(min_value=1, max_value=1e6))
def test_a_larger_multiple_never_gives_a_smaller_ceiling(a: float, b: float, mib: float) -> None:
    low, high = sorted((a, b))
    ceilings = [
        Band(name="b", memory=Share(ceiling=times))
        .limits(Spec(memory_mib=mib))
        .memory_ceiling_bytes
        for times in (low, high)
    ]
    assert ceilings == sorted(ceilings, key=lambda c: c or 0)
