"""Who watches a running pod: one thread that samples, and kills when a rule is broken.

It ends with the pod and waits on descriptors, never busily: early in an exec it looks often,
later as seldom as the group allows.
"""

import os
import select
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...meters.cgroup import Reading

FIRST_LOOK_S = 0.02
STORAGE_EVERY_S = 0.5
STORAGE_SHARE = 20  # measuring the tree may take a twentieth of the time


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a pod up to now."""

    anon_peak_bytes: int | None = None
    pids_peak: int | None = None
    storage_exceeded: bool = False


class Vigil:
    """The watcher of one pod.

    Args:
        look: one reading of the pod's group.
        storage_bytes: measures the pod's own files.
        storage_ceiling_bytes: None watches no storage.
        oom_event: an eventfd, readable when the kernel is about to kill for memory; or None.
        on_storage, on_oom: what is done then, in the watcher's thread.
        longest_pause_s: between two looks.
    """

    def __init__(
        self,
        look: Callable[[], Reading],
        *,
        storage_bytes: Callable[[], int],
        storage_ceiling_bytes: int | None,
        oom_event: int | None,
        on_storage: Callable[[], object],
        on_oom: Callable[[], object],
        longest_pause_s: float,
    ) -> None:
        self._look, self._storage_bytes = look, storage_bytes
        self._ceiling_bytes = storage_ceiling_bytes
        self._oom_event = oom_event
        self._on_storage, self._on_oom = on_storage, on_oom
        self._longest_pause_s = longest_pause_s
        self._lock = threading.Lock()
        self._seen = Seen()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._ending = False
        self._storage_due_s = time.monotonic() + STORAGE_EVERY_S
        self._thread = threading.Thread(target=self._watch, name="vigil", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def rouse(self) -> None:
        """Look often again: something new begins."""
        os.eventfd_write(self._wake, 1)

    def stop(self) -> None:
        """End the watch. Safe to call twice, not from the watcher's own thread."""
        if self._ending:
            return
        self._ending = True
        self.rouse()
        if self._thread.ident is not None:
            self._thread.join()
        os.close(self._wake)

    def seen(self) -> Seen:
        """Everything seen until now; takes no new look."""
        return self._seen

    def note(self, reading: Reading) -> None:
        """Take a reading into the peaks."""
        with self._lock:
            self._seen = replace(
                self._seen,
                anon_peak_bytes=_larger(self._seen.anon_peak_bytes, reading.anon_bytes),
                pids_peak=_larger(self._seen.pids_peak, reading.pids),
            )

    def check_storage(self) -> int:
        """Measure the pod's files now; over the ceiling, the pod's processes are killed."""
        used_bytes = self._storage_bytes()
        if self._ceiling_bytes is not None and used_bytes > self._ceiling_bytes:
            with self._lock:
                self._seen = replace(self._seen, storage_exceeded=True)
            self._on_storage()
        return used_bytes

    def _watch(self) -> None:
        poll = select.poll()
        poll.register(self._wake, select.POLLIN)
        if self._oom_event is not None:
            poll.register(self._oom_event, select.POLLIN)
        pause_s = FIRST_LOOK_S
        while not self._ending:
            ready = {descriptor for descriptor, _ in poll.poll(pause_s * 1000)}
            pause_s = min(2 * pause_s, self._longest_pause_s)
            if self._wake in ready:
                os.eventfd_read(self._wake)
                pause_s = FIRST_LOOK_S
                continue
            if self._oom_event in ready and self._oom_event is not None:
                os.eventfd_read(self._oom_event)
                self.note(self._look())  # the peak that a sample every so often would miss
                self._on_oom()
            self.note(self._look())
            if self._ceiling_bytes is not None and time.monotonic() >= self._storage_due_s:
                self._timed_storage_check()

    def _timed_storage_check(self) -> None:
        began = time.monotonic()
        self.check_storage()
        took_s = time.monotonic() - began
        self._storage_due_s = began + max(STORAGE_EVERY_S, STORAGE_SHARE * took_s)


def _larger(one: int | None, other: int | None) -> int | None:
    return max((value for value in (one, other) if value is not None), default=None)
