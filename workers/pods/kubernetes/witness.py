"""What a cluster told of one pod and what it gave it: read from its history while there is one."""

from typing import Any

from ....models import kube_reading
from ....models.kube_evidence import KubeEvidence
from ....models.kube_pod import KubePod, kube_pod
from .cluster import Cluster
from .watch import gone
from .words import Place


class Witness:
    """Of one pod. Silent until the pod is followed; `close` keeps what was told when it goes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.uid = ""
        self.place = Place()
        self.co_tenants: int | None = None
        self._noted: KubeEvidence | None = None
        self._granted: KubePod | None = None
        self._closed = False

    @property
    def now(self) -> dict[str, Any]:
        """The pod's newest object."""
        return self._cluster.reflector.history(self.uid)[-1].pod

    @property
    def open(self) -> bool:
        """There is a pod, and it was not removed by us."""
        return bool(self.uid) and not self._closed

    def alive(self) -> bool:
        """Whether commands can be run in it, as far as is known."""
        if not self.open:
            return False
        history = self._cluster.reflector.history(self.uid)
        return bool(history) and not gone(history) and not kube_reading.facts(history).ended

    def note(self, seen: KubeEvidence) -> None:
        """Keep what the history alone does not say: what was waited for, and would it ever fit."""
        self._noted = seen

    def close(self) -> None:
        """Keep what was told: from now on its history may be dropped."""
        self._noted, self._granted = self.facts(), self.granted()
        self._closed = True

    def facts(self, *, troubled: bool = False) -> KubeEvidence:
        """What its history says; node and events are asked for where something went wrong."""
        history = self._cluster.reflector.history(self.uid)
        if not history:
            return self._noted or KubeEvidence()
        seen = kube_reading.facts(history, intent="cleanup" if history[-1].ours else "")
        if not (troubled or seen.ended or seen.deleted or seen.disruption):
            return seen
        skew_s = self._cluster.api.skew_s or 0.0
        since = None if seen.disrupted_at is None else seen.disrupted_at - skew_s
        node = self._cluster.nodes.seen(seen.node.name, since)
        told = kube_reading.troubles(self._cluster.events.of(self.uid))
        update: dict[str, object] = {"node": node, "troubles": told}
        if self._noted is not None:
            update |= {"overdue": self._noted.overdue, "floor_fits": self._noted.floor_fits}
        return seen.model_copy(update=update)

    def ending(self, verdict_at: float | None = None) -> KubeEvidence | None:
        """What the cluster told of this pod until now; None where it was never asked for.

        Args:
            verdict_at: when the verdict was read, Unix seconds of this machine.
        """
        seen = self._noted or (self.facts() if self.uid else None)
        if seen is None or verdict_at is None:
            return seen
        skew_s = self._cluster.api.skew_s or 0.0
        return seen.model_copy(update={"verdict_at": verdict_at + skew_s})

    def granted(self) -> KubePod | None:
        """What the cluster gave this pod; None where it never took it."""
        history = self._cluster.reflector.history(self.uid) if self.uid else ()
        if not history:
            return self._granted
        free = [step.pod for step in history if not step.ours] or [history[0].pod]
        found = kube_pod(free[-1], self._cluster.events.of(self.uid))
        return found.model_copy(
            update={
                "dealt": self.place.dealt,
                "co_tenants": self.co_tenants,
                "skew_s": self._cluster.api.skew_s,
                "cluster_version": self._cluster.version,
            }
        )
