"""The kinds of pods on this node, each made when first asked for, and then swept once."""

import threading
import time
from collections.abc import Mapping

from ..models.errors import PodError, Refused
from .outlet.outlets import Outlets
from .pods.pod import Pods
from .settings import WorkerSettings

NAMES = ("process", "docker", "kubernetes")


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
            from .pods.process.pods import ProcessPods

            return ProcessPods(self._settings.state, outlets=Outlets(self._settings.egress_hosts))
        if name == "docker":
            from .pods.docker.pods import DockerPods

            outlets = Outlets(self._settings.egress_hosts)
            return DockerPods(build_network=self._settings.build_network, outlets=outlets)
        if name == "kubernetes":
            return self._kubernetes()
        raise Refused(f"runtime {name!r}: this node has {', '.join(NAMES)}")

    def _kubernetes(self) -> Pods:
        """Pods of a cluster; only where a namespace is named, since a kubeconfig alone says
        nothing of whether its cluster is meant for this.

        Raises:
            Refused: no namespace, no client, or no cluster.
        """
        try:
            from .pods.kubernetes import here
            from .pods.kubernetes.pods import KubernetesPods
        except ModuleNotFoundError as error:
            raise Refused(f"{error}; install infranoise[kubernetes]") from error
        asked = self._settings
        shape = here.shape_of(asked)
        return KubernetesPods(shape, api=here.api_of(asked), diary=asked.state / "kubernetes")

    def facts(self) -> Mapping[str, Mapping[str, str | int | float | bool | None]]:
        """What each runtime is here; a runtime that cannot be had says why under `refused`."""
        found: dict[str, Mapping[str, str | int | float | bool | None]] = {}
        for name in NAMES:
            try:
                found[name] = self.named(name).facts()
            except PodError as refusal:
                found[name] = {"refused": str(refusal)}
        return found
