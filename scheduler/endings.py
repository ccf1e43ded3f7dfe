"""How attempts end of which no record will come: pure.

A node that was lost ends what it had begun as `node_lost`. What no node had begun is owed again,
and counts for nothing; a message that is lost again and again is no accident, and ends its trial.
"""

import json

from ..models.evidence import Evidence, Fault
from ..models.ledger.ingest import Ending
from .leases import RunOut
from .window import Running

NEVER_STARTED = "its message was lost: no node began it"
MOST_MESSAGES = 20  # so many times a trial is sent for each attempt that it may have
GONE = "the queue server lost its lease"


def ending(
    attempt: str, one: Running, experiment: str, at: float, over: RunOut | None, max_attempts: int
) -> Ending:
    """The ending of an attempt whose lease is over.

    Args:
        at: now, Unix seconds.
        over: its lease as it ran out; None where the queue server lost it.
        max_attempts: of the experiment.
    """
    lost = over is None or over.started
    evidence = _lost(over) if lost else _never_started(one.owed.next_number, max_attempts)
    witness = {
        "node": one.node,
        "why": GONE if over is None else "its lease ran out" if lost else NEVER_STARTED,
        "started": over.started if over else None,
        "silent_s": over.silent_s if over else None,
        "gap": over.gap if over else None,
        "noticed_at": at,
    }
    return Ending(
        attempt, one.owed.id, experiment, one.node, at, evidence, witness=json.dumps(witness)
    )


def _lost(over: RunOut | None) -> Evidence:
    return Evidence(node_seen="no", node_silent_s=over.silent_s if over else None)


def _never_started(number: int, max_attempts: int) -> Evidence:
    if number < MOST_MESSAGES * max_attempts:
        return Evidence(cancelled=NEVER_STARTED)
    message = f"sent {number} times, and no node began it; look whether workers take from the queue"
    return Evidence(fault=Fault(cause="unschedulable", message=message))
