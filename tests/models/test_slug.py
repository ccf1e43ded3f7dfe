import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.models.slug import slug, unique

ODD_BUT_REAL = {
    "regex-log": "regex-log",
    "Fix The Build": "fix-the-build",
    "42": "42",
    "UPPER_case.v2": "upper_case.v2",
    "back\\slash": "back-slash",
    "a|b=c": "a-b-c",
    "--x--": "x",
    "日本": "unnamed",
}


@pytest.mark.parametrize(("text", "name"), ODD_BUT_REAL.items())
def test_odd_names_become_fit_ones(text: str, name: str) -> None:
    assert slug(text) == name


@settings(max_examples=200)
@given(st.text(max_size=200))
def test_a_slug_is_a_valid_image_component_and_stable(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", slug(text))
    assert len(slug(text)) <= 60
    assert slug(slug(text)) == slug(text)


def test_a_name_that_is_free_stays() -> None:
    assert unique("a", "3f", ()) == "a"


def test_a_taken_name_gets_its_mark_and_then_a_number() -> None:
    taken: list[str] = []
    for _ in range(4):
        taken.append(unique("a", "3f", taken))
    assert taken == ["a", "a-3f", "a-3f-2", "a-3f-3"]
