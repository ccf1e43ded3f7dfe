"""The law of neighbours: the same as counting them one by one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.importers.overlap import Neighbours, Span, neighbours

spans = st.lists(
    st.one_of(
        st.none(),
        st.tuples(st.integers(0, 20), st.integers(1, 9)).map(lambda s: (s[0], s[0] + s[1])),
    ),
    max_size=12,
)


def counted(all_spans: list[Span], which: int) -> Neighbours:
    span = all_spans[which]
    if span is None:
        return Neighbours()
    others = [other for place, other in enumerate(all_spans) if other and place != which]

    def under_way(at: float) -> int:
        return sum(begin <= at < end for begin, end in others)

    starts = [span[0], *(begin for begin, _ in others if span[0] <= begin < span[1])]
    at_end = sum(begin < span[1] <= end for begin, end in others)
    return Neighbours(under_way(span[0]), max(map(under_way, starts)), at_end)


@settings(max_examples=60, deadline=None)
@given(spans)
def test_neighbours_are_those_that_one_would_count(all_spans: list[Span]) -> None:
    assert neighbours(all_spans) == [counted(all_spans, k) for k in range(len(all_spans))]
