"""Which owed trials may start: in order, within the slots, never beside another concurrency."""

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from infranoise.models.ledger.attempts import Owed
from infranoise.scheduler.backlog import due


def backlog(*waves: int) -> deque[Owed]:
    return deque(Owed(f"t{place}", wave, place, 1) for place, wave in enumerate(waves))


def ids(trials: list[Owed]) -> list[str]:
    return [trial.id for trial in trials]


def test_free_slots_are_filled_in_order() -> None:
    waiting = backlog(0, 0, 0)
    assert ids(due(waiting, {}, {}, slots=2)) == ["t0", "t1"]
    assert ids(list(waiting)) == ["t2"]


def test_no_slot_is_given_twice() -> None:
    assert due(backlog(0), {"x": 0, "y": 0}, {}, slots=2) == []


def test_a_wave_gets_the_concurrency_that_it_asks_for() -> None:
    assert ids(due(backlog(0, 0, 0), {}, {0: 1}, slots=8)) == ["t0"]


def test_a_wave_of_another_concurrency_waits_until_the_node_is_free() -> None:
    waiting = backlog(1)
    assert due(waiting, {"x": 0}, {0: 2, 1: 8}, slots=8) == []
    assert ids(due(waiting, {}, {0: 2, 1: 8}, slots=8)) == ["t0"]


def test_waves_of_one_concurrency_may_overlap() -> None:
    assert ids(due(backlog(1), {"x": 0}, {0: 2, 1: 2}, slots=2)) == ["t0"]


@given(
    waves=st.lists(st.integers(0, 3), max_size=20),
    running=st.dictionaries(st.text(max_size=2), st.integers(0, 3), max_size=8),
    concurrency=st.dictionaries(st.integers(0, 3), st.integers(1, 8)),
    slots=st.integers(1, 8),
)
def test_what_starts_is_the_front_of_the_backlog_and_never_too_much(
    waves: list[int], running: dict[str, int], concurrency: dict[int, int], slots: int
) -> None:
    waiting = backlog(*waves)
    taken = due(waiting, running, concurrency, slots)
    assert taken + list(waiting) == list(backlog(*waves))
    if taken:
        level = min(concurrency.get(taken[0].wave, slots), slots)
        assert len(taken) + len(running) <= level
