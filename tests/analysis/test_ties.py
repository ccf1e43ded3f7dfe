"""Groups of entries that cannot be told apart."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis.ties import tie_groups

GROUPS = {
    "nobody is apart": ([], (("a", "b", "c", "d"),)),
    "all are apart": (list(combinations("abcd", 2)), (("a",), ("b",), ("c",), ("d",))),
    "one stands out": ([("a", "b"), ("a", "c"), ("d", "a")], (("a",), ("b", "c", "d"))),
    "a chain": (
        [("a", "c"), ("a", "d"), ("b", "d")],
        (("a", "b"), ("b", "c"), ("c", "d")),
    ),
    "ties need not be neighbours": ([("a", "b"), ("b", "c")], (("a", "c", "d"), ("b", "d"))),
}


@pytest.mark.parametrize("case", GROUPS)
def test_entries_share_a_group_where_none_is_apart(case: str) -> None:
    apart, groups = GROUPS[case]
    assert tie_groups("abcd", apart) == groups


pairs = st.sets(st.sampled_from(list(combinations("abcdefg", 2))))


@given(pairs)
@settings(max_examples=60)
def test_a_pair_shares_a_group_exactly_if_it_is_not_apart(apart: set[tuple[str, str]]) -> None:
    groups = [set(group) for group in tie_groups("abcdefg", sorted(apart))]
    for pair in combinations("abcdefg", 2):
        assert any(set(pair) <= group for group in groups) == (pair not in apart)
    assert not any(one < other for one in groups for other in groups)
    assert set().union(*groups) == set("abcdefg")
