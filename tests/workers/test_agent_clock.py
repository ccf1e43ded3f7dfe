"""The agent's clock, turned by hand: what of the API's time a limit counts."""

from dataclasses import dataclass

import pytest

from infranoise.models.api_access import ApiWait
from infranoise.models.api_call import ApiCall, use_of
from infranoise.models.provider import Tokens
from infranoise.workers.harness.agent_clock import AgentClock


@dataclass
class Hand:
    at: float = 100.0

    def __call__(self) -> float:
        return self.at


def worked(wait: ApiWait, longest_s: float = 100.0) -> AgentClock:
    """10 s of work, 30 s of waiting and 5 s of work, under a limit of 40 s."""
    hand = Hand()
    clock = AgentClock(40.0, wait, longest_s, now=hand)
    hand.at += 10
    with clock.waiting():
        hand.at += 30
    hand.at += 5
    return clock


@pytest.mark.parametrize(
    ("wait", "longest_s", "left_s"),
    [("counts", 100.0, -5.0), ("excluded", 100.0, 25.0), ("excluded", 20.0, 15.0)],
)
def test_a_limit_counts_waiting_or_leaves_it_out(
    wait: ApiWait, longest_s: float, left_s: float
) -> None:
    clock = worked(wait, longest_s)
    assert clock.api_wait_s == 30.0
    assert clock.elapsed_s == 45.0
    assert clock.left_s == left_s
    assert clock.over == (left_s <= 0)


def test_one_may_wait_as_long_as_may_be_left_out_and_the_limit_lets() -> None:
    assert worked("excluded").left_waiting_s == 25.0 + 70.0
    assert worked("excluded", 20.0).left_waiting_s == 15.0
    assert worked("counts").left_waiting_s == -5.0
    assert AgentClock(None).left_waiting_s is None


def call(at: float, total_s: float, **more: object) -> ApiCall:
    values: dict[str, object] = {
        "id": f"{at}",
        "experiment": "e",
        "attempt": "a",
        "provider": "p",
        "model": "m",
        "route": "/",
        "at": at,
        "ending": "complete",
        "status": 200,
        "total_s": total_s,
    }
    return ApiCall.model_validate(values | more)


def test_calls_side_by_side_are_waited_for_once() -> None:
    use = use_of([call(0, 4), call(2, 4), call(10, 1)], under_way=[(10.5, 12.0)])
    assert use.wait_s == 8.0
    assert (use.calls, use.total_p50_s, use.total_p95_s) == (3, 4.0, 4.0)


def test_the_last_call_decides_whether_the_api_failed() -> None:
    fine, busy = call(0, 1, tokens=Tokens(input=3)), call(2, 1, status=529)
    assert use_of([busy, fine]).last_failed
    assert not use_of([busy, call(4, 1)]).last_failed
    assert not use_of([fine, call(2, 1, status=400)]).last_failed
    assert use_of([fine, busy]).last_words == "HTTP 529"
    left = call(2, 9, ending="client_left", status=None)
    assert (use_of([fine, left]).last_failed, use_of([fine, left]).unanswered_s) == (False, 9.0)
