"""Leaving: a node that is told to go takes nothing more, lets what runs end, then stops the rest.

What is stopped ends as `preempted`, with the reason: an operator's doing, never the model's.
"""

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType

import redis

from ..models.errors import PodError
from ..models.evidence import Fault
from .lease import Membership
from .slots import Slots

LAST_S = 30.0  # for stopped attempts to send their records home
LOOK_EVERY_S = 0.2
Handler = Callable[[int, FrameType | None], object] | int | None
log = logging.getLogger(__name__)


def withdraw(slots: Slots, attempt: str, why: Fault) -> None:
    """Withdraw an attempt that runs here: kill what runs in its pod, in a thread of its own.

    The attempt then gives up by itself, removes its pod and sends its record home. It may have been
    between two commands: ask again until it is gone.
    """
    known = slots.withdrawn(attempt)
    pod = slots.withdraw(attempt, why)
    if pod is None:
        return
    if known is None:
        log.warning("attempt %s is stopped: %s", attempt, why.message)

    def kill() -> None:
        try:
            pod.quiesce()
        except (PodError, OSError) as error:
            log.warning("what runs in the pod of %s could not be killed: %s", attempt, error)
        finally:
            slots.killed(attempt)

    threading.Thread(target=kill, daemon=True, name=f"stop {attempt}").start()


def stop_all(slots: Slots, why: Fault, *, within_s: float) -> bool:
    """Withdraw all that runs here until nothing does; False if something still did at the end.

    Each attempt removes its own pod: two who remove one pod that is just being made leave parts.
    """
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        for attempt in slots.running():
            withdraw(slots, attempt, why)
        if slots.empty(within_s=LOOK_EVERY_S):
            return True
    return False


@dataclass(slots=True)
class Leaving:
    """How one worker leaves.

    Celery's own shutdown begins when nothing runs any more: while it lasts, new sockets of the
    process have a timeout, which is nothing that pods should be started under, and what waits in
    the node's queue would be lost.

    Args:
        end: ends the process at once; called when even the stopped attempts do not end.
    """

    membership: Membership
    slots: Slots
    grace_s: float
    end: Callable[[int], None] = os._exit
    _begun: threading.Event = field(default_factory=threading.Event)
    _before: dict[int, Handler] = field(default_factory=dict)

    def heed(self, numbers: Sequence[int]) -> None:
        """Leave at the first of these signals; at the second do what was to be done before.

        Call it from the main thread.
        """
        self._before = {number: signal.signal(number, self._told) for number in numbers}

    def _told(self, number: int, frame: FrameType | None) -> None:
        if not self._begun.is_set():
            self._begun.set()
            # A handler interrupts the main thread, which may hold any lock.
            threading.Thread(target=self._go, args=(number,), daemon=True, name="leaving").start()
            return
        before = self._before[number]
        if callable(before):
            before(number, frame)

    def _go(self, number: int) -> None:
        self.leave()
        os.kill(os.getpid(), number)

    def leave(self) -> None:
        """Take nothing more, let what was granted end within the grace, stop the rest."""
        log.warning("leaving: what was begun has %g s to end", self.grace_s)
        with contextlib.suppress(redis.RedisError):  # home grants nothing to whom it does not hear
            self.membership.leave()
        if self._idle(within_s=self.grace_s):
            return
        message = f"its node was told to leave, and the grace of {self.grace_s:g} s ended"
        why = Fault(cause="preempted", message=message)
        if stop_all(self.slots, why, within_s=LAST_S):
            return
        log.error("%s did not end: the process does", ", ".join(self.slots.running()))
        self.membership.left()
        self.end(1)

    def _idle(self, *, within_s: float) -> bool:
        """Whether all that was granted to this node has ended."""
        deadline = time.monotonic() + within_s
        while (left_s := deadline - time.monotonic()) > 0:
            if self.slots.empty(within_s=left_s) and not self._granted():
                return True
            time.sleep(min(LOOK_EVERY_S, max(0.0, left_s)))
        return False

    def _granted(self) -> bool:
        try:
            return self.membership.granted() > 0
        except redis.RedisError as error:
            log.warning("what was granted to this node is not known: %s", error)
            return False
