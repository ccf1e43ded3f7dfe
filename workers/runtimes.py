"""The kinds of pods on this node, each made when first asked for, and then swept once."""

import threading
import time
from collections.abc import Mapping

from ..models.errors import Refused
from .pods.pod import Pods
from .settings import WorkerSettings

NAMES = ("process", "docker")


class Runtimes:
    """Makes each runtime once; a runtime that nobody asks for is never imported."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._made: dict[str, Pods] = {}

    def named(self, name: str) -> Pods:
        """The runtime of that name; safe from many threads.

        Raises:
            Refused: no such runtime, or it cannot be had on this node.
        """
        with self._lock:
            if name not in self._made:
                pods = self._make(name)
                pods.reap(now=time.time())
                self._made[name] = pods
            return self._made[name]

    def _make(self, name: str) -> Pods:
        if name == "process":
            from .pods.process import ProcessPods

            return ProcessPods(self._settings.state)
        if name == "docker":
            from .pods.docker import DockerPods

            return DockerPods(build_network=self._settings.build_network)
        raise Refused(f"runtime {name!r}: this node has {', '.join(NAMES)}")

    def facts(self) -> Mapping[str, Mapping[str, str | int | float | bool | None]]:
        """What each runtime is here; a runtime that cannot be had says why under `refused`."""
        found: dict[str, Mapping[str, str | int | float | bool | None]] = {}
        for name in NAMES:
            try:
                found[name] = self.named(name).facts()
            except Refused as refusal:
                found[name] = {"refused": str(refusal)}
        return found
