"""Neighbours: counted at the start, at the peak, and at the end."""

from infranoise.workers.slots import Neighbours, Slots


def test_an_attempt_alone_has_no_neighbours() -> None:
    slots = Slots(2)
    with slots.taken("a") as mine:
        pass
    assert mine == Neighbours(0, 0, 0)


def test_neighbours_are_counted_at_start_peak_and_end() -> None:
    slots = Slots(3)
    first = slots.taken("a")
    mine = first.__enter__()
    with slots.taken("b") as other, slots.taken("c"):
        assert other.start == 1
    with slots.taken("d"):
        first.__exit__(None, None, None)
    assert mine == Neighbours(start=0, peak=2, end=1)
    assert other == Neighbours(start=1, peak=2, end=1)


def test_a_failed_attempt_gives_its_slot_back() -> None:
    slots = Slots(1)
    try:
        with slots.taken("a"):
            raise ValueError
    except ValueError:
        pass
    with slots.taken("b") as mine:
        pass
    assert mine.start == 0
