"""The one Celery task of a node: take an attempt's message, run it, send its record home."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import redis
from celery.signals import worker_ready

from ..models.errors import PodError, WireError
from ..models.message import (
    NODES,
    RECORD_FIELD,
    RECORDS,
    RUN_ATTEMPT,
    AttemptMessage,
    AttemptRecord,
    claim_key,
)
from .app import app, settings
from .artefacts import Artefacts
from .attempt import Node, run_attempt
from .node import node_profile
from .runtimes import Runtimes
from .slots import Slots

CLAIM_KEPT_S = 7 * 86_400
log = logging.getLogger(__name__)


def once[T](make: Callable[[], T]) -> Callable[[], T]:
    """Make a thing when first asked for, once, whichever thread of the pool asks."""
    lock, made = threading.Lock(), cache(make)

    def get() -> T:
        with lock:
            return made()

    return get


@once
def this_node() -> Node:
    """This node, measured once."""
    return Node(
        id=settings.node,
        profile_hash=node_profile().profile_hash,
        slots=Slots(settings.slots),
        environ=dict(os.environ),
        artefacts=Artefacts(settings.artefacts) if settings.artefacts else None,
    )


@once
def runtimes() -> Runtimes:
    """The kinds of pods of this node."""
    return Runtimes(settings)


@once
def home() -> redis.Redis:
    """The way home. One client; it keeps a pool of connections for the threads."""
    return redis.Redis.from_url(settings.broker, socket_timeout=15, health_check_interval=10)


@worker_ready.connect
def _say_hello(**_: Any) -> None:
    home().hset(NODES, settings.node, node_profile().model_dump_json())
    if settings.tethered:
        threading.Thread(target=leave_with_parent, daemon=True, name="tether").start()


def leave_with_parent() -> None:
    """Wait until standard input ends, then remove every pod and exit at once.

    The parent holds the other end: it closes it to stop us, and when it dies it closes as well.
    """
    sys.stdin.buffer.read()
    for pod in this_node().slots.pods():
        try:
            pod.stop()
        except PodError as error:
            log.warning("a pod could not be stopped and is left to the next sweep: %s", error)
    os._exit(0)


@app.task(name=RUN_ATTEMPT)
def attempt(message: str, **shown: Any) -> None:
    """Run one attempt. `shown` are words for those who watch the queue; they are not read."""
    try:
        order = AttemptMessage.decode(message)
    except WireError as error:
        log.error("refused a message: %s", error)
        raise
    if not home().set(claim_key(order.attempt_id), settings.node, nx=True, ex=CLAIM_KEPT_S):
        log.warning("attempt %s was started before; the message is a double", order.attempt_id)
        return
    send(run_attempt(order, runtimes().named(order.runtime), this_node()))


def send(record: AttemptRecord) -> None:
    """Put a record on its way home."""
    home().xadd(RECORDS, {RECORD_FIELD: record.encode()})
