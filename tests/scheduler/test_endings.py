"""Attempts without a record: what is lost, what is owed again, and what ends for good."""

import json

import pytest

from infranoise.models.classify import classify
from infranoise.models.lease.capacity import Capacity
from infranoise.models.ledger.attempts import Owed
from infranoise.models.outcome import Outcome
from infranoise.scheduler.endings import GONE, MOST_MESSAGES, ending
from infranoise.scheduler.leases import RunOut
from infranoise.scheduler.unfit import MISSES, PASSED_OVER_S, Unfit
from infranoise.scheduler.window import Running


def running(number: int) -> Running:
    return Running(Owed("t", 0, 0, number), "n", Capacity(0, 0), None)


def judged(over: RunOut | None, number: int = 1, max_attempts: int = 1) -> Outcome:
    made = ending("t.1", running(number), "e", 100.0, over, max_attempts)
    return classify(made.evidence)


def test_what_a_node_had_begun_is_lost_with_how_long_it_was_silent() -> None:
    outcome = judged(RunOut("t.1", "n", started=True, silent_s=6.1))
    assert (outcome.verdict, outcome.cause) == ("infra_error", "node_lost")
    assert "it was last heard of 6.1 s before" in outcome.detail


def test_a_lease_that_the_queue_server_lost_is_lost_too() -> None:
    assert judged(None).cause == "node_lost"


def test_what_no_node_had_begun_is_owed_again_and_counts_for_nothing() -> None:
    assert judged(RunOut("t.1", "n", started=False)).verdict == "cancelled"


@pytest.mark.parametrize("max_attempts", [1, 3])
def test_a_message_that_is_lost_again_and_again_ends_its_trial(max_attempts: int) -> None:
    over, last = RunOut("t.1", "n", started=False), MOST_MESSAGES * max_attempts
    assert judged(over, last - 1, max_attempts).verdict == "cancelled"
    outcome = judged(over, last, max_attempts)
    assert (outcome.verdict, outcome.cause) == ("infra_error", "unschedulable")
    assert f"sent {last} times" in outcome.detail


@pytest.mark.parametrize(
    ("over", "why", "silent_s"),
    [(RunOut("t.1", "n", True, 6.1), "its lease ran out", 6.1), (None, GONE, None)],
)
def test_what_was_seen_is_kept(over: RunOut | None, why: str, silent_s: float | None) -> None:
    told = json.loads(ending("t.1", running(1), "e", 100.0, over, 1).witness)
    assert (told["why"], told["silent_s"]) == (why, silent_s)
    assert (told["node"], told["noticed_at"]) == ("n", 100.0)


class TestUnfit:
    def test_a_node_that_fails_again_and_again_is_passed_over_for_a_while(self) -> None:
        unfit = Unfit()
        for look in range(MISSES):
            assert not unfit.passes_over("n", look)
            unfit.missed("n", look)
        assert unfit.passes_over("n", MISSES)
        assert not unfit.passes_over("other", MISSES)
        assert not unfit.passes_over("n", MISSES - 1 + PASSED_OVER_S)

    def test_a_node_on_which_something_comes_off_in_between_is_not(self) -> None:
        unfit = Unfit()
        for _ in range(3 * MISSES):
            unfit.missed("n", 0)
            unfit.came_off("n")
        assert not unfit.passes_over("n", 0)
