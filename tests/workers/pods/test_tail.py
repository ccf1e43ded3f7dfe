"""The end of a stream, kept within a bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.workers.pods.tail import Tail


@given(pieces=st.lists(st.binary(max_size=50), max_size=40), cap=st.integers(0, 60))
def test_the_tail_is_the_end_of_everything_fed(pieces: list[bytes], cap: int) -> None:
    tail = Tail(cap)
    for piece in pieces:
        tail.feed(piece)
    whole, stream = b"".join(pieces), tail.stream()
    assert stream.tail == whole[max(0, len(whole) - cap) :].decode("utf-8", "replace")
    assert stream.total_bytes == len(whole)
    assert stream.truncated == (len(whole) > cap)


@pytest.mark.parametrize("piece_bytes", [7, 1000, 100_000])
def test_it_never_holds_much_more_than_its_bound(piece_bytes: int) -> None:
    tail = Tail(1000)
    for _ in range(100):
        tail.feed(bytes(piece_bytes))
        assert len(tail._kept) <= 3000
