"""Who runs beside whom: counts the attempts under way on this worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
        self._running: dict[str, Neighbours] = {}
        self._pods: dict[str, Pod] = {}

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
                mine.end = len(self._running)

    def hold(self, attempt: str, pod: Pod) -> None:
        """Remember the pod of an attempt under way, for a worker that must leave at once."""
        with self._lock:
            self._pods[attempt] = pod

    def pod(self, attempt: str) -> Pod | None:
        """The pod of an attempt under way, if it has one yet."""
        with self._lock:
            return self._pods.get(attempt)

    def running(self) -> tuple[str, ...]:
        """Ids of the attempts under way."""
        with self._lock:
            return tuple(self._running)
