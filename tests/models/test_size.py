import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.models.size import mebibytes

KNOWN = [("2G", 2048), ("512M", 512), ("2048K", 2), ("0.5g", 512), (" 4 G ", 4096), (".5M", 0.5)]


@pytest.mark.parametrize(("text", "mib"), KNOWN)
def test_a_size_is_read_in_steps_of_1024(text: str, mib: float) -> None:
    assert mebibytes(text) == mib


@pytest.mark.parametrize(
    "text", ["2048", "2GB", "2Gi", "G", "", "-1G", "nanG", "infM", "1_0G", "1e3M"]
)
def test_anything_but_a_plain_number_and_a_suffix_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="suffix G, M or K"):
        mebibytes(text)


@settings(max_examples=100)
@given(st.decimals(0, 10**6, places=3), st.sampled_from("gGmMkK"), st.text(" \t", max_size=2))
def test_every_number_with_a_suffix_scales_by_it(amount: object, unit: str, space: str) -> None:
    scale = {"g": 1024.0, "m": 1.0, "k": 1 / 1024}[unit.lower()]
    assert mebibytes(f"{space}{amount}{space}{unit}") == pytest.approx(float(str(amount)) * scale)


@settings(max_examples=200)
@given(st.text(max_size=8))
def test_any_text_is_a_size_of_at_least_zero_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert mebibytes(text) >= 0
