"""Words and numbers as a reader meets them; text from outside made fit to be seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.printable import one_line, printable
from infranoise.analysis.words import (
    MINUS,
    counted,
    duration,
    listed,
    number,
    p_value,
    percent,
    points,
    size,
)


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(0.0213, "+2.1"), (-0.05, f"{MINUS}5.0"), (0.0, "0.0"), (-0.0001, "0.0"), (0.0004, "0.0")],
)
def test_a_difference_has_a_sign_unless_it_rounds_to_nothing(fraction: float, text: str) -> None:
    assert points(fraction) == text


def test_a_tiny_negative_rate_is_no_negative_zero() -> None:
    assert percent(-1e-9) == "0.0 %"


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_a_list_reads_as_a_sentence_has_it(items: list[str], text: str) -> None:
    assert listed(items) == text


def test_one_is_singular_and_thousands_are_set_apart() -> None:
    assert [counted(n, "trial") for n in (0, 1, 1200)] == ["0 trials", "1 trial", "1,200 trials"]
    assert [number(n) for n in (0, 1, 12, 13)] == ["0", "one", "twelve", "13"]


def test_a_p_value_is_never_zero() -> None:
    assert p_value(1e-300) == "p < 0.001"


def test_durations_and_sizes_have_units_of_their_scale() -> None:
    assert [duration(s) for s in (0.0, 59.94, 60.0, 3599.9)] == [
        "0 ms", "59.9 s", "1 min 0 s", "1 h 0 min",
    ]  # fmt: skip
    assert [size(n) for n in (512, 2048, 3 * 2**40, 5000 * 2**40)] == [
        "512 B", "2.0 KiB", "3.0 TiB", "5000.0 TiB",
    ]  # fmt: skip


@given(st.text())
def test_printable_text_steers_nothing(text: str) -> None:
    shown = printable(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160 for c in shown)
    shown.encode("utf-8")  # lone surrogates are gone too


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=80))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert printable(text) == text.replace("\u2028", "<U+2028>").replace("\u2029", "<U+2029>")


def test_one_line_is_one_line_and_cut_where_asked() -> None:
    assert one_line("a\n  b\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc…"
