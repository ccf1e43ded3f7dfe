"""The one Celery task of a node: take an attempt's message, run it, send its record home."""

import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from celery.signals import worker_init, worker_ready

from .. import __version__
from ..models.alive import Alive
from ..models.errors import PodError, WireError
from ..models.evidence import Evidence, Fault
from ..models.lease import keys
from ..models.message import PROBE_NODE, RUN_ATTEMPT, AttemptMessage, AttemptRecord
from .app import app, settings
from .artefacts import Artefacts
from .attempt import Node, refused_attempt, run_attempt
from .bearings import Bearings
from .bundles import Bundles
from .capacity import capacity_here
from .lease import Membership
from .leaving import Leaving, stop_all, withdraw
from .offers import no_links, offers
from .runtimes import Runtimes
from .slots import Slots
from .tending import Tending

LOST = (
    "the attempt was not this node's any more: it was cut off or frozen, the queue server lost the "
    "lease, or the experiment was cancelled"
)
LEAVE_WITHIN_S = 15.0  # less than the parent waits
DOCKER_ROOT = Path("/var/lib/docker")  # where an engine keeps its containers unless told otherwise
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
        bearings=Bearings(),
        slots=Slots(settings.slots),
        environ=dict(os.environ),
        artefacts=Artefacts(settings.artefacts),
        bundles=Bundles(settings.state / "tasks", settings.blobs),
        disks=(settings.state, DOCKER_ROOT),
        gateway_in_pods=settings.gateway_in_pods,
    )


@once
def runtimes() -> Runtimes:
    """The kinds of pods of this node."""
    return Runtimes(settings)


@once
def membership() -> Membership:
    """This worker's place in the fleet."""
    hello: dict[str, object] = {
        **tending().look(),
        "version": __version__,
        "dialect": keys.DIALECT,
        "host": socket.gethostname(),
        "pid": os.getpid(),
    }
    if not settings.tethered:  # the run that holds the tether has chosen its runtime itself
        offered = offers(runtimes(), settings.runtimes)
        hello |= {"runtimes": offered, "links": no_links(runtimes(), offered)}
    here, alive = capacity_here(settings), Alive(settings.alive)
    return Membership.of(settings.broker, settings.node, here, stop_lost, hello, alive)


@once
def tending() -> Tending:
    """What keeps this node's bearings."""
    node = this_node()
    return Tending(
        bearings=node.bearings,
        slots=node.slots,
        disk=settings.state,
        every_s=settings.probe_every_s,
        named=settings.reach,
        runtimes=cluster_version(),
        ask_time=lambda: membership().server_time_s(),
        tell=lambda facts: membership().tell(facts),
    )


def cluster_version() -> dict[str, str]:
    """The version of the cluster where pods are made, if one is named and answers."""
    if not settings.namespace:
        return {}
    try:
        version = runtimes().named("kubernetes").facts().get("version")
    except PodError:
        return {}
    return {"kubernetes": str(version)} if version else {}


def stop_lost(attempt: str) -> None:
    """Stop an attempt that this node may not run any longer; its record still goes home."""
    withdraw(this_node().slots, attempt, Fault(cause="node_lost", message=LOST))


@worker_init.connect
def _hold_on_to_parent(**_: Any) -> None:
    """From the very start: a parent that dies before we are ready must not leave us behind."""
    if settings.tethered:
        threading.Thread(target=leave_with_parent, daemon=True, name="tether").start()


@worker_ready.connect
def _join(**_: Any) -> None:
    if not settings.tethered:  # before the fleet knows of us; Celery's own handlers are set by now
        leaving = Leaving(membership(), this_node().slots, settings.grace_s)
        leaving.heed((signal.SIGTERM, signal.SIGINT))
    membership().join()
    tending().go_on()


def leave_with_parent() -> None:
    """Wait until standard input ends, then stop what runs and exit.

    The parent holds the other end: it closes it to stop us, and when it dies it closes as well.
    What does not end in time is left to the next run's sweep.
    """
    sys.stdin.buffer.read()
    membership().left()
    why = Fault(cause="node_lost", message="the run that this worker belonged to has ended")
    stop_all(this_node().slots, why, within_s=LEAVE_WITHIN_S)
    os._exit(0)


@app.task(name=RUN_ATTEMPT)
def attempt(message: str, **shown: Any) -> str:
    """Run one attempt. `shown` are words for those who watch the queue; they are not read.

    Returns: what it left, for the same people: the record itself goes home by another way.
    """
    try:
        order = AttemptMessage.decode(message)
    except WireError as error:
        log.error("refused a message: %s", error)
        raise
    if not membership().start(order.attempt_id, order.fence):
        log.warning("attempt %s: a late or doubled message, nothing was started", order.attempt_id)
        return "a late or doubled message: nothing was started"
    try:
        record = run(order)
        membership().finish(order.attempt_id, record.encode())
        return in_short(record.evidence)
    finally:  # a bug of ours must not keep a lease alive for ever
        membership().let_go(order.attempt_id)


@app.task(name=PROBE_NODE)
def probe_node(asked: str, beside: bool) -> None:
    """Probe this node's speed, and tell home under the id of who asked."""
    tending().asked(asked, beside=beside)


def run(order: AttemptMessage) -> AttemptRecord:
    """Run an attempt on the pods that it asks for."""
    try:
        pods = runtimes().named(order.runtime)
    except PodError as refusal:
        return refused_attempt(order, refusal, this_node())
    return run_attempt(order, pods, this_node())


def in_short(evidence: Evidence) -> str:
    """What an attempt left, in a few words; what it means is judged at home."""
    if evidence.fault is not None:
        return evidence.fault.cause
    kills = evidence.agent_kills + evidence.verifier_kills
    left = "no reward" if evidence.reward is None else f"reward {evidence.reward:g}"
    return f"{left}, {kills} OOM kills" if kills else left
