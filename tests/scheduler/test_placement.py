"""Placement: fair between experiments, in order within one, even over nodes, nobody starves."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.lease.capacity import Capacity
from infranoise.scheduler.placement import AGE_S, PASS_BY, Line, Placed, Room, Want, place

GIB = 1 << 30
BANDS = (("small", 1.0), ("large", 4.0))


def room(name: str, cores: int = 4, gib: int = 8, slots: int = 4) -> Room:
    total = Capacity(cores * 1000, gib * GIB, slots)
    return Room(name, total, total)


def want(name: str, band: str = "1x", cores: float = 1, gib: float = 1, **more: object) -> Want:
    return Want(name, band, Capacity(int(cores * 1000), int(gib * GIB)), **more)  # type: ignore[arg-type]


def put(lines: list[Line], rooms: list[Room], now: float = 0.0) -> list[Placed]:
    return place(lines, rooms, Random(1), now)


def names(placed: list[Placed]) -> list[str]:
    return [one.want.trial for one in placed]


def test_trials_go_out_in_the_order_of_the_plan() -> None:
    line = Line("e", [want(f"t{i}") for i in range(6)])
    assert names(put([line], [room("n")])) == ["t0", "t1", "t2", "t3"]
    assert [w.trial for w in line.waiting] == ["t4", "t5"]


@pytest.mark.parametrize(
    "small",
    [room("n", cores=1), room("n", gib=1), room("n", slots=1)],
    ids=["cores", "memory", "slots"],
)
def test_floors_and_slots_are_never_oversubscribed(small: Room) -> None:
    assert len(put([Line("e", [want("a"), want("b")])], [small])) == 1


def test_a_trial_goes_only_where_its_link_can_be_made() -> None:
    weak = room("weak", slots=8)
    weak.no_links = {"docker": {"public, capped": "links are made by root alone"}}
    able = room("able", slots=2)
    capped = [want(f"c{i}", runtime="docker", link="public, capped") for i in range(4)]
    plain = [want(f"p{i}", runtime="docker", link="public") for i in range(4)]
    placed = put([Line("capped", capped), Line("plain", plain)], [weak, able])
    nodes = {one.want.trial: one.node for one in placed}
    assert {node for trial, node in nodes.items() if trial[0] == "c"} == {"able"}
    assert "weak" in {node for trial, node in nodes.items() if trial[0] == "p"}


def test_the_experiment_with_less_under_way_goes_first() -> None:
    busy = Line("a", [want("a0"), want("a1")], busy_m=1000)
    idle = Line("b", [want("b0"), want("b1")])
    assert names(put([busy, idle], [room("n", slots=3)])) == ["b0", "a0", "b1"]


def test_a_weight_gives_a_larger_share() -> None:
    heavy = Line("a", [want(f"a{i}") for i in range(6)], weight=2)
    light = Line("b", [want(f"b{i}") for i in range(6)])
    placed = put([heavy, light], [room("n", cores=6, slots=6)])
    assert Counter(one.experiment for one in placed) == {"a": 4, "b": 2}


def test_bands_spread_evenly_over_nodes() -> None:
    trials = [want(f"{i}{band}", band) for i in range(40) for band in ("1x", "3x")]
    line, spread = Line("e", trials), Counter[tuple[str, str]]()
    while line.waiting:
        placed = put([line], [room(f"n{i}", cores=2, slots=2) for i in range(4)])
        spread.update((one.want.band, one.node) for one in placed)
    assert max(spread.values()) - min(spread.values()) <= 1


def test_a_wave_of_another_concurrency_waits_until_a_node_is_empty() -> None:
    busy = room("n")
    put([Line("e", [want("a", concurrency=2)])], [busy])
    assert put([Line("e", [want("b", concurrency=4)])], [busy]) == []
    assert names(put([Line("e", [want("b", concurrency=4)])], [room("n")])) == ["b"]


def test_a_wave_gets_no_more_than_its_concurrency_on_a_node() -> None:
    line = Line("e", [want(f"t{i}", concurrency=2) for i in range(4)])
    assert len(put([line], [room("n")])) == 2


def test_a_large_floor_lets_small_ones_pass_for_a_while() -> None:
    line = Line("e", [want("large", gib=8), want("small")])
    full = room("n")
    put([Line("other", [want("x")])], [full])
    assert names(put([line], [full], now=AGE_S - 1)) == ["small"]


def test_an_aged_large_floor_has_a_node_kept_free_for_it() -> None:
    full = room("n")
    put([Line("other", [want("x")])], [full])
    line = Line("e", [want("large", gib=8), want("small")])
    assert put([line], [full], now=AGE_S + 1) == []
    assert names(put([line], [room("n")], now=AGE_S + 2)) == ["large"]


def test_a_node_kept_free_leaves_the_others_to_all() -> None:
    able, other = room("able"), room("other", gib=2)
    put([Line("x", [want("x")])], [able])
    line = Line("e", [want("large", gib=8), want("small")])
    placed = put([line], [able, other], now=AGE_S + 1)
    assert [(one.want.trial, one.node) for one in placed] == [("small", "other")]


floors = st.builds(
    lambda cores, gib: (cores, gib), st.sampled_from([0, 1, 2, 4]), st.sampled_from([0, 1, 4, 8])
)


@given(
    shapes=st.lists(floors, max_size=40),
    nodes=st.integers(1, 5),
    now=st.sampled_from([0.0, AGE_S + 1]),
    seed=st.integers(0, 99),
)
def test_what_is_placed_fits_and_nothing_is_lost(
    shapes: list[tuple[int, int]], nodes: int, now: float, seed: int
) -> None:
    wants = [want(f"t{i}", cores=c, gib=g) for i, (c, g) in enumerate(shapes)]
    line, rooms = Line("e", list(wants)), [room(f"n{i}") for i in range(nodes)]
    placed = place([line], rooms, Random(seed), now)
    assert sorted([w.trial for w in line.waiting] + names(placed)) == sorted(w.trial for w in wants)
    for one in rooms:
        assert one.free.cpu_m >= 0
        assert one.free.memory_bytes >= 0
        assert one.free.slots >= 0


def test_a_band_with_large_floors_is_not_left_for_later_hours() -> None:
    """Four large floors and four small ones in each wave, on a node with room for one large."""
    waves = [
        [want(f"{wave}-{band}{i}", band, cores, wave=wave) for band, cores in BANDS]
        for wave in range(6)
        for i in range(4)
    ]
    line, node = Line("e", [one for block in waves for one in block]), room("n")
    running: list[tuple[int, Want]] = []
    begun: list[Want] = []
    for turn in range(400):
        for ends, done in running:
            if ends == turn:
                node.running -= 1
                node.free = Capacity(
                    node.free.cpu_m + done.floor.cpu_m,
                    node.free.memory_bytes + done.floor.memory_bytes,
                    node.free.slots + 1,
                )
        running = [one for one in running if one[0] > turn]
        now = float(turn)
        if line.waiting:
            head = line.waiting[0]
            line.waiting[0] = replace(head, since=head.since or now)
        for one in put([line], [node], now):
            begun.append(one.want)
            running.append((turn + 2 + len(begun) % 3, one.want))
    assert len(begun) == 48
    furthest = 0
    for one in begun:
        furthest = max(furthest, one.wave)
        assert furthest - one.wave <= 1


def test_a_provider_at_its_cap_lets_others_pass_and_takes_no_slot() -> None:
    waiting = [want(f"a{i}", provider="a") for i in range(3)]
    waiting += [want(f"b{i}", provider="b") for i in range(2)]
    line = Line("e", waiting, provider_room={"a": 1})
    assert names(put([line], [room("n")])) == ["a0", "b0", "b1"]
    assert [one.trial for one in line.waiting] == ["a1", "a2"]


def test_many_that_wait_for_their_provider_hide_no_one_behind_them() -> None:
    waiting = [want(f"a{i}", provider="a") for i in range(PASS_BY + 5)] + [want("b")]
    line = Line("e", waiting, provider_room={"a": 0})
    assert names(put([line], [room("n")])) == ["b"]


def test_a_cap_leaves_no_node_below_the_concurrency_that_is_measured() -> None:
    def waiting() -> list[Want]:
        return [want(f"t{i}", provider="a", concurrency=4) for i in range(8)]

    rooms = [room("n0"), room("n1")]
    placed = put([Line("e", waiting(), provider_room={"a": 6})], rooms)
    assert len({one.node for one in placed}) == 1  # one node whole, none half
    assert len(placed) == 4
    last = waiting()[:3]
    assert len(put([Line("e", last, provider_room={"a": 6})], [room("n")])) == 3
