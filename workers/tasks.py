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

from .. import __version__
from ..models.errors import PodError, WireError
from ..models.message import RUN_ATTEMPT, AttemptMessage
from .app import app, settings
from .artefacts import Artefacts
from .attempt import Node, run_attempt
from .capacity import capacity_here
from .lease import Membership
from .node import node_profile
from .runtimes import Runtimes
from .slots import Slots

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
def membership() -> Membership:
    """This worker's place in the fleet."""
    client = redis.Redis.from_url(
        settings.broker, socket_timeout=15, health_check_interval=10, decode_responses=True
    )
    hello = {"profile": node_profile().model_dump_json(), "version": __version__}
    return Membership(client, settings.node, capacity_here(settings), stop_pod, hello)


def stop_pod(attempt: str) -> None:
    """Stop an attempt that this node may not run any longer; its record still goes home."""
    pod = this_node().slots.pod(attempt)
    if pod is None:
        return
    log.warning("attempt %s is not this node's any more: its pod is stopped", attempt)
    try:
        pod.stop()
    except PodError as error:
        log.warning("the pod of %s is left to the next sweep: %s", attempt, error)


@worker_ready.connect
def _join(**_: Any) -> None:
    membership().join()
    if settings.tethered:
        threading.Thread(target=leave_with_parent, daemon=True, name="tether").start()


def leave_with_parent() -> None:
    """Wait until standard input ends, then remove every pod and exit at once.

    The parent holds the other end: it closes it to stop us, and when it dies it closes as well.
    """
    sys.stdin.buffer.read()
    membership().leave()
    for attempt in this_node().slots.running():
        stop_pod(attempt)
    os._exit(0)


@app.task(name=RUN_ATTEMPT)
def attempt(message: str, **shown: Any) -> None:
    """Run one attempt. `shown` are words for those who watch the queue; they are not read."""
    try:
        order = AttemptMessage.decode(message)
    except WireError as error:
        log.error("refused a message: %s", error)
        raise
    if not membership().start(order.attempt_id, order.fence):
        log.warning("attempt %s: a late or doubled message, nothing was started", order.attempt_id)
        return
    record = run_attempt(order, runtimes().named(order.runtime), this_node())
    membership().finish(order.attempt_id, record.encode())
