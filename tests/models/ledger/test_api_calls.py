"""Calls of models' APIs in the ledger: once each, and summed."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from infranoise.models.api_call import ApiCall
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.api_calls import Spent, api_calls, spent, take_calls
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.provider import Tokens
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.models.waves import PlannedTrial, Wave


def call(name: str, attempt: str = "a.1", **more: object) -> ApiCall:
    values: dict[str, object] = {
        "id": name,
        "experiment": "small",
        "attempt": attempt,
        "provider": "p",
        "model": "m",
        "route": "/v1/messages",
        "at": 1.0,
        "ending": "complete",
        "status": 200,
        "total_s": 2.0,
        "tokens": Tokens(input=10, output=5),
        "cost_usd": 0.25,
    }
    return ApiCall.model_validate(values | more)


@pytest.fixture
def placed(
    store: Engine,
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
) -> Engine:
    """A store in which the attempt `a.1` is under way."""
    key = TrialKey(cell=CellKey(task="suite/one", entry="lean", band="1x"), sample=0)
    wave = Wave(0, (), (PlannedTrial(id="a", key=key, wave=0, position=0),))
    enrol(store, make_experiment(samples=1), [make_task()], [wave])
    place(store, "small", "n", owed(store, "small"))
    return store


def test_calls_that_come_twice_count_once(placed: Engine) -> None:
    assert take_calls(placed, [call("1"), call("2"), call("1")]) == 2
    assert take_calls(placed, [call("2"), call("3", at=0.5)]) == 1
    assert [one.id for one in api_calls(placed, "small", attempt="a.1")] == ["3", "1", "2"]
    assert spent(placed, "small") == Spent(calls=3, attempts=1, tokens=45, cost_usd=0.75)


def test_calls_without_a_price_are_told_apart(placed: Engine) -> None:
    bare = call("1", cost_usd=None, tokens=None)
    refused = call("2", cost_usd=None, status=529)
    assert take_calls(placed, [bare, refused]) == 2
    assert spent(placed, "small") == Spent(calls=2, attempts=1, tokens=15, unpriced=1)
    assert next(api_calls(placed, "small")) == bare


def test_calls_of_attempts_that_nobody_knows_are_left_out(placed: Engine) -> None:
    assert take_calls(placed, [call("1", attempt="other.1")]) == 0
    assert spent(placed, "small") == Spent()
