"""The worst that a node's load came to while something ran on it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...models.load import Load
from .load import read_load

EVERY_S = 2.0


@dataclass(slots=True, eq=False)
class Span:
    """The load of a node over the time of one attempt; complete when its span has ended."""

    start: Load
    peak: Load
    end: Load


@dataclass(slots=True)
class LoadWatch:
    """Samples the load while at least one span is open, by one thread for all of them.

    Args:
        every_s: the time between samples. read: how the load is read.
    """

    every_s: float = EVERY_S
    read: Callable[[], Load] = read_load
    _open: list[Span] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _idle: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    @contextmanager
    def span(self) -> Iterator[Span]:
        """Watch while inside; start and end are read on the spot."""
        first = self.read()
        mine = Span(first, first, first)
        with self._lock:
            self._open.append(mine)
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._sample, daemon=True, name="load")
                self._thread.start()
        try:
            yield mine
        finally:
            last = self.read()
            with self._lock:
                self._open.remove(mine)
                mine.end, mine.peak = last, mine.peak.worst(last)
                if not self._open:
                    self._idle.set()

    def _sample(self) -> None:
        """Sample until no span is open for a while; the next span starts another thread."""
        while True:
            if self._idle.wait(self.every_s):
                with self._lock:
                    if not self._open:
                        self._thread = None
                        return
                continue
            seen = self.read()
            with self._lock:
                for one in self._open:
                    one.peak = one.peak.worst(seen)
