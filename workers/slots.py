"""Who runs beside whom: counts the attempts under way on this worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..models.evidence import Fault
from .pods.pod import Pod


@dataclass(slots=True)
class Neighbours:
    """Other attempts under way beside one attempt: when it started, at most, when it ended."""

    start: int = 0
    peak: int = 0
    end: int = 0


class Slots:
    """The attempts under way on this worker. Safe from many threads."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._fewer = threading.Condition(self._lock)
        self._running: dict[str, Neighbours] = {}
        self._pods: dict[str, Pod] = {}
        self._withdrawn: dict[str, Fault] = {}
        self._killing: set[str] = set()

    @contextmanager
    def taken(self, attempt: str) -> Iterator[Neighbours]:
        """Count an attempt as running while inside; the yielded counts are kept up."""
        with self._lock:
            mine = Neighbours(start=len(self._running), peak=len(self._running))
            self._running[attempt] = mine
            for other in self._running.values():
                other.peak = max(other.peak, len(self._running) - 1)
        try:
            yield mine
        finally:
            with self._lock:
                del self._running[attempt]
                self._pods.pop(attempt, None)
                self._withdrawn.pop(attempt, None)
                self._killing.discard(attempt)
                mine.end = len(self._running)
                self._fewer.notify_all()

    def hold(self, attempt: str, pod: Pod) -> None:
        """Remember the pod of an attempt under way, so that others can stop it."""
        with self._lock:
            self._pods[attempt] = pod

    def withdraw(self, attempt: str, why: Fault) -> Pod | None:
        """Withdraw an attempt under way: unless all of it is over, `why` is what ended it.

        Returns: its pod, for the caller to kill what runs in it, and then to say `killed`; None
            where there is none yet, where another caller does so already, or where the attempt is
            not under way.
        """
        with self._lock:
            if attempt not in self._running:
                return None
            self._withdrawn.setdefault(attempt, why)
            if attempt in self._killing or attempt not in self._pods:
                return None
            self._killing.add(attempt)
            return self._pods[attempt]

    def killed(self, attempt: str) -> None:
        """Say that what ran in a withdrawn attempt's pod was killed, or could not be."""
        with self._lock:
            self._killing.discard(attempt)

    def withdrawn(self, attempt: str) -> Fault | None:
        """Why an attempt under way was withdrawn, if it was."""
        with self._lock:
            return self._withdrawn.get(attempt)

    def running(self) -> tuple[str, ...]:
        """Ids of the attempts under way."""
        with self._lock:
            return tuple(self._running)

    def empty(self, *, within_s: float) -> bool:
        """Whether no attempt is under way any more; waits at most so long for that."""
        with self._fewer:
            return self._fewer.wait_for(lambda: not self._running, within_s)
