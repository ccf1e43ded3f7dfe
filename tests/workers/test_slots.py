"""Neighbours: counted at the start, at the peak, and at the end."""

import pytest

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
    assert (mine.start, mine.peak, mine.end) == (0, 2, 1)
    assert (other.start, other.peak, other.end) == (1, 2, 1)


def test_the_mean_is_over_the_time_that_each_was_there() -> None:
    now = [0.0]
    slots = Slots(3, clock=lambda: now[0])
    with slots.taken("a") as mine:
        now[0] = 6.0  # alone for 6 s
        with slots.taken("b") as second:
            now[0] = 8.0  # with one for 2 s
            with slots.taken("c") as third:
                now[0] = 10.0  # with two for 2 s
    assert (mine.mean, second.mean, third.mean) == pytest.approx((0.6, 1.5, 2.0))


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
