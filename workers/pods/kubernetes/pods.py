"""Pods of a Kubernetes cluster, through its API: one bare pod per attempt.

Nothing is built here: a cluster pulls. A task names its image, or `image_prefix` says where an
image for each environment hash lies.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....models.egress import Egress
from ....models.errors import Refused, StartFailed
from ....models.link import Network
from .. import owner
from ..pod import PodOrder
from .api import Api, ApiTrouble, Ask, connect
from .cluster import Cluster
from .diary import Diary
from .events import Events
from .feed import WATCH_S
from .leftovers import AGAIN_S, Leftovers
from .nodes import Nodes
from .pod import KubernetesPod
from .seats import LABEL, MANAGED_BY
from .sweep import Sweeper, annotation, attempt_of, expired
from .watch import Reflector
from .words import Shape, image_of, label

COMPOSE = "docker-compose.yaml"


class KubernetesPods:
    """The `Pods` of one namespace.

    Args:
        shape: what of a pod is the cluster's.
        api: a cluster that is connected already; None: the kubeconfig's, or the one around us.
        diary: a folder for transitions and intents; None: they are not kept.
        watch_s, read_s: how pods are watched, as of a `Feed`.
        leftovers_s: after how long pods that could not be removed are told to go again.
    """

    name = "kubernetes"

    def __init__(
        self,
        shape: Shape | None = None,
        *,
        api: Api | None = None,
        kubeconfig: str | None = None,
        context: str | None = None,
        diary: Path | None = None,
        watch_s: tuple[int, int] = WATCH_S,
        read_s: float | None = None,
        leftovers_s: float = AGAIN_S,
    ) -> None:
        self.kubeconfig = kubeconfig
        mine = owner.owner()
        self._shape = replace(shape or Shape(), owner=mine, worker=label(mine))
        self._api = api or connect(kubeconfig, context)
        self._diary = Diary(diary)
        selector = f"{MANAGED_BY}=infranoise,{LABEL}worker={self._shape.worker}"
        self.reflector = Reflector(
            self._api,
            self._shape.namespace,
            selector,
            self._diary.transition,
            watch_s=watch_s,
            read_s=read_s,
        )
        self._cluster = Cluster(
            self._api,
            self._shape.namespace,
            self.reflector,
            Nodes(self._api, self._diary.node),
            Events(self._api, self._shape.namespace, self._diary.event),
        )
        self._sweeper = Sweeper(self._cluster, self._diary)
        self._leftovers = Leftovers(self._sweeper.sweep, again_s=leftovers_s)

    def refuse(self, order: PodOrder) -> str | None:
        """Why a cluster cannot run such a task, with the remedy; None if it can."""
        if (order.environment / COMPOSE).is_file():
            return (
                f"a multi-container task ({order.environment / COMPOSE}): the kubernetes runtime "
                "runs one container per task; leave this task out"
            )
        if why := self.refuse_link(order.network, order.egress_mbps):
            return why
        if image_of(order, self._shape) is None:
            return (
                "a cluster pulls images and builds none: give the task environment.docker_image, "
                "or push an image per environment hash and set INFRANOISE_IMAGE_PREFIX"
            )
        return None

    def refuse_link(self, network: Network, egress_mbps: Egress | None) -> str | None:
        """As `Pods.refuse_link` says."""
        if network == "gateway":
            return (
                "a cluster's NetworkPolicy knows no host names, counts nothing, and is accepted by "
                "plugins that do nothing, so no allow-list can be promised there; run this with "
                "the docker or process runtime"
            )
        if egress_mbps is not None:
            return (
                "egress_mbps cannot be set in a cluster: which plugin shapes a pod's link, and "
                "whether it does, is not told; leave the factor out, or take the docker runtime"
            )
        if network in ("none", "internal"):
            return (
                "a NetworkPolicy is accepted and does nothing under many network plugins, so "
                f"`{network}` cannot be promised; run this task with the docker or process "
                "runtime"
            )
        return None

    def prepare(self, order: PodOrder) -> str:
        """The name of an order's image; the cluster pulls it when the pod starts.

        Raises:
            Refused
        """
        reason = self.refuse(order)
        if reason is not None:
            raise Refused(reason, runtime=self.name)
        return image_of(order, self._shape) or ""

    def pod(self, order: PodOrder) -> KubernetesPod:
        """The pod of an order, not yet made."""
        self._cluster.start()
        return KubernetesPod(self._cluster, order, self._shape, self._diary, self._leftovers)

    def reap(self, *, now: float, alive: Collection[str] = ()) -> tuple[str, ...]:
        """Delete pods of ours whose time is over, whose worker on this machine is dead, or whose
        end a dead worker had begun.

        Raises:
            StartFailed: the cluster does not answer.
        """
        begun, dead = self._diary.unfinished(), self._diary.dead_workers()

        def abandoned(pod: Mapping[str, Any]) -> bool:
            maker = annotation(pod, "owner")
            dies = pod["metadata"]["uid"] in begun or expired(pod, now) or maker in dead
            return attempt_of(pod) not in alive and (dies or owner.dead(maker, one_machine=False))

        try:
            swept = self._sweeper.sweep(abandoned)
        except ApiTrouble as trouble:
            raise StartFailed(f"pods cannot be listed for the sweep: {trouble}") from trouble
        self._diary.tidy()
        return tuple(one.attempt for one in swept if not one.why_it_stays)

    def facts(self) -> dict[str, str | int | float | bool | None]:
        """What this cluster is, and what it cannot do.

        Raises:
            Refused: it does not answer.
        """
        try:
            version = self._api.ask(Ask("GET", "/version"), patience_s=5.0)
        except ApiTrouble as trouble:
            raise Refused(f"the Kubernetes API does not answer: {trouble}") from trouble
        return {
            "runtime": self.name,
            "version": version.get("gitVersion"),
            "platform": version.get("platform"),
            "namespace": self._shape.namespace,
            "service_account": self._shape.service_account,
            "clock_skew_s": self._api.skew_s,
            "enforces_memory": True,
            "enforces_pids": False,
            "enforces_storage": "by the kubelet, which looks every ten seconds and evicts",
            "oom_scope": "the kubelet's to choose",
            "network_none": False,
            "network_allowlist": False,
            "multi_container": False,
        }

    def close(self) -> None:
        """Stop watching; pods that run are not touched."""
        self._leftovers.stop()
        self._cluster.stop()
        self._diary.close()
