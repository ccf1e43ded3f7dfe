"""The law of streaming: cut anywhere, a document says what it says whole."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.importers.json_stream import walk
from infranoise.models.errors import SourceFault

PATH = Path("log.json")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(st.text(max_size=4).filter(lambda key: key != "samples"), values, max_size=4),
    st.lists(values, max_size=5),
    st.integers(1, 9),
    st.sampled_from([None, 1]),
)
def test_a_document_cut_anywhere_says_the_same(
    head: dict[str, object], samples: list[object], size: int, indent: int | None
) -> None:
    text = json.dumps(head | {"samples": samples}, ensure_ascii=False, indent=indent).encode()
    pieces = [text[k : k + size] for k in range(0, len(text), size)]
    told = list(walk(PATH, pieces, frozenset({"samples"})))
    assert [item for key, item in told if key == "samples"] == samples
    assert dict(pair for pair in told if pair[0] != "samples") == head


BROKEN = {
    b'{"a": 1': "character 8: ends in the middle of its JSON",
    b"[1, 2": "ends in the middle",
    b'{"a" 1}': "holds no key with a value",
    b'{"a": 1} x': "character 10: goes on with 'x'",
    b"": "ends in the middle",
    b'"text"': "begins with '\"'",
    b"[1 2]": "has '2' where ',' or ']' belongs",
    b'{"a": tru}': "character 7: Expecting value",
    b"\xff{}": "byte 0: is not UTF-8",
    b'{"a": "\xff"}': "byte 7: is not UTF-8",
    b"[" * 50_000: "nested too deeply",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_document_says_where(text: bytes) -> None:
    with pytest.raises(SourceFault) as caught:
        list(walk(PATH, [text], frozenset({"a"})))
    assert BROKEN[text] in str(caught.value)
