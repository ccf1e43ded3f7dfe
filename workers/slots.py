"""Who runs beside whom: counts the attempts under way on this worker."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ..models.evidence import Fault
from .pods.pod import Pod


@dataclass(slots=True)
class Neighbours:
    """Other attempts under way beside one attempt: when it started, at most, when it ended, and
    their mean over its time. `ceilings_peak_bytes` is the highest sum of the memory ceilings of
    those that ran at one time, itself among them."""

    start: int = 0
    peak: int = 0
    end: int = 0
    mean: float = 0.0
    ceilings_peak_bytes: int = 0
    ceiling_bytes: int = 0


class Slots:
    """The attempts under way on this worker. Safe from many threads.

    Args:
        size: how many it may hold.
        clock: seconds that only grow.
    """

    def __init__(self, size: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.size, self._clock = size, clock
        self._together_s, self._as_of_s = 0.0, clock()  # attempts under way, over time
        self._lock = threading.Lock()
        self._fewer = threading.Condition(self._lock)
        self._running: dict[str, Neighbours] = {}
        self._pods: dict[str, Pod] = {}
        self._withdrawn: dict[str, Fault] = {}
        self._killing: set[str] = set()
        self._kept_free = False

    @contextmanager
    def taken(self, attempt: str, ceiling_bytes: int | None = None) -> Iterator[Neighbours]:
        """Count an attempt as running while inside; the yielded counts are kept up.

        Waits while somebody has the node for himself (`alone`).

        Args:
            ceiling_bytes: its memory ceiling; None: uncapped.
        """
        with self._fewer:
            self._fewer.wait_for(lambda: not self._kept_free)
            before_s, since_s = self._together_until_now(), self._as_of_s
            mine = Neighbours(start=len(self._running), ceiling_bytes=ceiling_bytes or 0)
            self._running[attempt] = mine
            ceilings_bytes = sum(one.ceiling_bytes for one in self._running.values())
            for one in self._running.values():
                one.peak = max(one.peak, len(self._running) - 1)
                one.ceilings_peak_bytes = max(one.ceilings_peak_bytes, ceilings_bytes)
        try:
            yield mine
        finally:
            with self._lock:
                together_s = self._together_until_now() - before_s
                alone_s = self._as_of_s - since_s
                mine.mean = together_s / alone_s - 1 if alone_s > 0 else float(mine.start)
                del self._running[attempt]
                self._pods.pop(attempt, None)
                self._withdrawn.pop(attempt, None)
                self._killing.discard(attempt)
                mine.end = len(self._running)
                self._fewer.notify_all()

    def _together_until_now(self) -> float:
        """Seconds of all attempts added up; asked whenever their number is about to change."""
        now_s = self._clock()
        self._together_s += len(self._running) * (now_s - self._as_of_s)
        self._as_of_s = now_s
        return self._together_s

    @contextmanager
    def alone(self, *, within_s: float) -> Iterator[bool]:
        """Keep the node free of attempts while inside; those that come meanwhile wait.

        Yields: False where attempts were still under way after so long; then nothing is kept free.
        """
        with self._fewer:
            free = self._fewer.wait_for(
                lambda: not (self._running or self._kept_free), timeout=within_s
            )
            self._kept_free = self._kept_free or free
        try:
            yield free
        finally:
            if free:
                with self._fewer:
                    self._kept_free = False
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
