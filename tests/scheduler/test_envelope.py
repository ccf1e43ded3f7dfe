"""A message on a node's queue is what Celery itself would have put there."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from celery import Celery

from infranoise.models.band import Band
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import Owed, Replay
from infranoise.models.message import PROBE_NODE, RUN_ATTEMPT, AttemptMessage, node_queue
from infranoise.models.task import Task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.envelope import attempt_envelope, probe_envelope
from infranoise.scheduler.orders import order

BANDS = [Band.shorthand("1x"), Band.shorthand("uncapped")]
NOT_READ = ("delivery_tag", "reply_to", "argsrepr")  # of the properties: a random word; unused


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


@pytest.fixture
def message(
    make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> AttemptMessage:
    experiment, task = make_experiment(bands=BANDS), make_task("suite/“one”")
    cell = CellKey(task=task.name, entry=experiment.entries[0].name, band="1x")
    key = TrialKey(cell=cell, sample=3)
    owed = Owed("t1", 0, 0, 2, Replay("t1.1", "uncapped"))
    return order(experiment, {task.name: task}, owed, key, queued_at=1.0, now=2.0)


def by_celery(server: str, name: str, **how: Any) -> dict[str, Any]:
    """What Celery puts on the queue of node `n`."""
    with Celery(broker=server) as app, redis.Redis.from_url(server) as client:
        app.send_task(name, queue=node_queue("n"), ignore_result=True, **how)
        return opened(client.rpop(node_queue("n")))


def opened(envelope: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(envelope)
    told["body"] = json.loads(b64decode(told["body"]))
    for name in NOT_READ:
        told["properties"].pop(name, None)
    del told["headers"]["origin"]
    return told


def test_an_attempt_travels_as_celery_would_send_it(server: str, message: AttemptMessage) -> None:
    shown = {"task": "suite/“one”", "entry": message.entry.name, "band": "1x", "sample": 3}
    shown["replay_in"] = "uncapped"
    theirs = by_celery(
        server,
        RUN_ATTEMPT,
        args=(message.encode(),),
        kwargs=shown,
        argsrepr="(…)",
        task_id=message.attempt_id,
    )
    assert opened(attempt_envelope("n", message)) == theirs


def test_so_does_the_wish_for_a_probe(server: str) -> None:
    theirs = by_celery(
        server, PROBE_NODE, kwargs={"asked": "me", "beside": True}, argsrepr="()", task_id="me"
    )
    assert opened(probe_envelope("n", "me", beside=True)) == theirs
