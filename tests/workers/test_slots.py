"""Neighbours: counted at the start, at the peak, and at the end."""

import threading

import pytest

from infranoise.workers.slots import Slots


def test_an_attempt_alone_has_no_neighbours() -> None:
    slots = Slots(2)
    with slots.taken("a") as mine:
        pass
    assert (mine.start, mine.peak, mine.end, mine.mean) == (0, 0, 0, 0.0)


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


def test_ceilings_of_what_runs_together_add_up_and_an_uncapped_one_adds_none() -> None:
    slots = Slots(3)
    with slots.taken("a", 100) as first, slots.taken("b", None), slots.taken("c", 50) as last:
        pass
    assert (first.ceilings_peak_bytes, last.ceilings_peak_bytes) == (150, 150)


def test_who_wants_the_node_alone_waits_for_attempts_and_makes_them_wait() -> None:
    slots = Slots(2)
    with slots.taken("a"), slots.alone(within_s=0.0) as alone:
        assert not alone
    begun = threading.Event()

    def attempt() -> None:
        with slots.taken("b"):
            begun.set()

    with slots.alone(within_s=0.0) as alone:
        assert alone
        thread = threading.Thread(target=attempt)
        thread.start()
        assert not begun.wait(0.05)
    thread.join(timeout=10)
    assert begun.is_set()
