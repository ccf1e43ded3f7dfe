"""Bands are dealt over a cluster's nodes: every band on every node alike, in an order by chance."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from infranoise.models.seating import ClusterPods, Seat, dealt

NODES = st.lists(st.text("abcdef", min_size=1, max_size=4), min_size=1, max_size=12, unique=True)


def block(seed: str, of: int, **asked: object) -> list[Seat]:
    pods = ClusterPods.model_validate(asked)
    return [Seat(asked=pods, shuffle=seed, turn=turn, of=of) for turn in range(of)]


@given(NODES, st.integers(1, 8), st.text(max_size=5))
def test_the_bands_of_a_block_share_no_node_while_there_is_another(
    nodes: list[str], bands: int, seed: str
) -> None:
    taken = Counter(node for seat in block(seed, bands) for node in dealt(nodes, seat))
    assert sum(taken.values()) == bands
    assert max(taken.values()) - min(taken[node] for node in nodes) <= 1


@given(NODES, st.integers(1, 8), st.text(max_size=5))
def test_isolated_bands_have_every_node_and_none_has_two(
    nodes: list[str], bands: int, seed: str
) -> None:
    shares = [dealt(nodes, seat) for seat in block(seed, bands, isolate="band")]
    if len(nodes) >= bands:
        assert sorted(node for share in shares for node in share) == sorted(nodes)
    assert all(share for share in shares)


def test_over_many_blocks_every_band_meets_every_node_as_often() -> None:
    nodes, met = ["a", "b", "c"], Counter[tuple[int, str]]()
    for number in range(3000):
        for seat in block(f"block {number}", 2):
            met[seat.turn, dealt(nodes, seat)[0]] += 1
    assert max(abs(count - 1000) for count in met.values()) < 120  # 4.6 standard deviations


@given(NODES, st.text(max_size=5))
def test_the_deal_depends_on_the_names_of_nodes_and_not_on_their_order(
    nodes: list[str], seed: str
) -> None:
    seat = block(seed, 1)[0]
    assert dealt(nodes, seat) == dealt(nodes[::-1], seat)


def test_where_the_cluster_is_to_choose_or_no_node_is_known_none_is_preferred() -> None:
    assert dealt(["a"], block("s", 1, spread="cluster")[0]) == ()
    assert dealt([], block("s", 1)[0]) == ()


@pytest.mark.parametrize("text", ["pool=trials:NoSchedule", "pool", "a.b/c=d", "pool:NoExecute"])
def test_a_toleration_names_a_taint(text: str) -> None:
    assert ClusterPods(tolerations=(text,))


@pytest.mark.parametrize("text", ["", "a b", "pool=trials:Never", "=x"])
def test_what_names_no_taint_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="names no taint"):
        ClusterPods(tolerations=(text,))
