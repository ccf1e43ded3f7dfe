"""Records that were sent lately: kept until the queue's server cannot have forgotten them.

A server that writes its log every second may lose the last ones when it is killed. They are then
sent once more; home takes in each record once.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field

KEPT_S = 5.0  # a server's log is written every second, and the disk may be slow


@dataclass(slots=True)
class Sent:
    """The records that the server took, each as (when, attempt, fence, record)."""

    _records: deque[tuple[float, str, int, str]] = field(default_factory=deque)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, attempt: str, fence: int, record: str) -> None:
        """The server has just taken a record."""
        with self._lock:
            self._records.append((time.monotonic(), attempt, fence, record))

    def forget_old(self) -> None:
        """The server is the same as before: what it took some seconds ago is on its disk."""
        before = time.monotonic() - KEPT_S
        with self._lock:
            while self._records and self._records[0][0] < before:
                self._records.popleft()

    def all(self) -> list[tuple[str, int, str]]:
        """What a server that was begun anew may not have: (attempt, fence, record)."""
        with self._lock:
            return [(attempt, fence, record) for _, attempt, fence, record in self._records]
