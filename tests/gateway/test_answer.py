"""Answers as they pass by: however they are cut into pieces, the same is read and passed on."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.gateway.answer import Document, Stream, tokens_in
from infranoise.models.provider import Tokens


def events(*documents: object) -> bytes:
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in documents)


MESSAGES = events(
    {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1,
                                                    "cache_read_input_tokens": 3}}},
    {"type": "content_block_delta", "delta": {"text": "the error of usage"}},
    {"type": "message_delta", "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
)  # fmt: skip
WORDS = events({"choices": [{"delta": {"content": "hé"}}]}, {"choices": [{"delta": {}}]})
TOLD = {
    "prompt_tokens": 9,
    "completion_tokens": 2,
    "prompt_tokens_details": {"cached_tokens": 4},
}
USAGE = events({"choices": [], "usage": TOLD})
DONE = b"data: [DONE]\n\n"
CHAT = WORDS + USAGE + DONE


@st.composite
def pieces(draw: st.DrawFn, whole: bytes) -> list[bytes]:
    cuts = draw(st.lists(st.integers(0, len(whole)), max_size=12))
    return [whole[a:b] for a, b in pairwise([0, *sorted(cuts), len(whole)])]


@given(pieces(MESSAGES))
def test_a_stream_tells_the_same_however_it_is_cut(parts: list[bytes]) -> None:
    stream = Stream()
    assert b"".join(map(stream.feed, parts)) + stream.close() == MESSAGES
    assert (stream.whole, stream.fault) == (True, "")
    assert stream.tokens == Tokens(input=7, output=5, cache_read=3)


@given(pieces(CHAT))
def test_what_was_not_asked_for_is_taken_out_however_it_is_cut(parts: list[bytes]) -> None:
    stream = Stream(take_out_usage=True)
    assert b"".join(map(stream.feed, parts)) + stream.close() == WORDS + DONE
    assert stream.whole
    assert stream.tokens == Tokens(input=5, output=2, cache_read=4)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (events({"type": "error", "error": {"type": "overloaded_error"}}), "overloaded_error"),
        (events({"error": {"code": "server_error"}}), "server_error"),
        (b'data: {"type": "message_stop"\n\n', "not JSON"),
    ],
)
def test_an_error_in_a_stream_is_heard(text: bytes, fault: str) -> None:
    stream = Stream()
    stream.feed(text)
    assert fault in stream.fault
    assert not stream.whole


@given(pieces(b'{"usage": {"input_tokens": 1, "output_tokens": 2}}'))
def test_a_document_is_not_whole_before_it_is_closed(parts: list[bytes]) -> None:
    document = Document(is_json=True)
    before = b"".join(map(document.feed, parts))
    assert before + document.close() == b"".join(parts)
    assert document.tokens == Tokens(input=1, output=2)


USAGES = {
    "Responses": ({"response": {"usage": {"input_tokens": 9, "output_tokens": 2,
                   "input_tokens_details": {"cached_tokens": 4}}}},
                  Tokens(input=5, output=2, cache_read=4)),
    "Gemini": ({"usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2,
                                  "thoughtsTokenCount": 1}}, Tokens(input=9, output=3)),
    "none": ({"choices": []}, None),
    "null": ({"usage": None}, None),
    "nonsense": ({"usage": {"input_tokens": "many", "output_tokens": -1}}, Tokens()),
}  # fmt: skip


@pytest.mark.parametrize("name", USAGES)
def test_tokens_are_read_in_every_dialect(name: str) -> None:
    document, tokens = USAGES[name]
    assert tokens_in(document) == tokens
