"""Leaving: a node that is told to go takes nothing more, lets what runs end, then stops the rest.

What is stopped ends as `preempted`, with the reason: an operator's doing, never the model's.
"""

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

import redis

from ..models.errors import PodError
from ..models.evidence import Fault
from .lease import Membership
from .slots import Slots

LAST_S = 30.0  # for stopped attempts to send their records home
log = logging.getLogger(__name__)


def withdraw(slots: Slots, attempt: str, why: Fault) -> None:
    """Withdraw an attempt that runs here and stop its pod, in a thread of its own.

    The attempt's record still goes home; the caller is not held up by a slow engine.
    """
    pod = slots.withdraw(attempt, why)
    if pod is None:
        return

    def stop() -> None:
        log.warning("attempt %s is stopped: %s", attempt, why.message)
        try:
            pod.stop()
        except PodError as error:
            log.warning("the pod of %s could not be stopped: %s", attempt, error)
            slots.still_runs(attempt)

    threading.Thread(target=stop, daemon=True, name=f"stop {attempt}").start()


@dataclass(slots=True)
class Leaving:
    """How one worker leaves.

    Args:
        end: ends the process at once; called when even the stopped attempts do not end.
    """

    membership: Membership
    slots: Slots
    grace_s: float
    end: Callable[[int], None] = os._exit

    def leave(self) -> None:
        """Leave; returns when nothing runs any more."""
        try:
            self.membership.leave()
        except redis.RedisError as error:
            log.warning("home was not told that this node leaves: %s", error)
        log.warning(
            "leaving: nothing more is taken; %d attempts have %.0f s to end",
            len(self.slots.running()),
            self.grace_s,
        )
        if self.slots.empty(within_s=self.grace_s):
            return
        for attempt in self.slots.running():
            message = f"its node was told to leave, and the grace of {self.grace_s:g} s ended"
            withdraw(self.slots, attempt, Fault(cause="preempted", message=message))
        if not self.slots.empty(within_s=LAST_S):
            log.error("%s did not end: the process does", ", ".join(self.slots.running()))
            self.membership.left()
            self.end(1)
