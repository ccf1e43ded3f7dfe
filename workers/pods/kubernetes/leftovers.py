"""Pods that should be gone and could not be told so: told again until they are.

The API may be away for longer than anyone's patience, when a pod is to be removed, or before it has
said whether it made one.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from .api import ApiTrouble
from .sweep import Swept

LOG = logging.getLogger(__name__)
AGAIN_S = 15.0
SETTLES_S = 60.0  # a create that was sent may be carried out so late
Sweep = Callable[[Callable[[Mapping[str, Any]], bool]], tuple[Swept, ...]]


class Leftovers:
    """Names of pods to remove. Its thread lives as long as there is one. Safe from many threads."""

    def __init__(self, sweep: Sweep, *, again_s: float = AGAIN_S, settles_s: float = SETTLES_S):
        self._sweep, self._again_s, self._settles_s = sweep, again_s, settles_s
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._since: dict[str, float] = {}
        self._thread: threading.Thread | None = None

    def add(self, name: str) -> None:
        """Remove the pod of this name whenever it is there."""
        with self._lock:
            self._since[name] = time.monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="leftovers")
                self._thread.start()

    def stop(self) -> None:
        """Leave what is left to the next worker."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(self._again_s):
            try:
                swept = self._sweep(lambda pod: pod["metadata"]["name"] in self._since)
            except ApiTrouble as trouble:
                LOG.info("pods that are to go cannot be asked for: %s", trouble)
                continue
            stay = {one.pod for one in swept if one.why_it_stays}
            removed = {one.pod for one in swept} - stay
            late = time.monotonic() - self._settles_s
            with self._lock:
                self._since = {
                    name: at
                    for name, at in self._since.items()
                    if name in stay or (name not in removed and at > late)
                }
                if not self._since:
                    self._thread = None
                    return
