"""Pods of a Kubernetes cluster, through its API: one bare pod per attempt.

Nothing is built here: a cluster pulls. A task names its image, or `image_prefix` says where an
image for each environment hash lies.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ....models.errors import Refused, StartFailed
from .. import owner
from ..pod import PodOrder
from .api import Api, ApiTrouble, Ask, connect
from .cluster import Cluster
from .diary import Diary
from .events import Events
from .life import REMOVAL_SLACK_S
from .nodes import Nodes
from .pod import KubernetesPod
from .seats import LABEL, MANAGED_BY
from .watch import Reflector
from .words import FINALIZER, GRACE_S, Shape, image_of, label

LOG = logging.getLogger(__name__)
COMPOSE = "docker-compose.yaml"
SCHEDULE_S = 600.0  # nothing that is pending ends by itself


class KubernetesPods:
    """The `Pods` of one namespace.

    Args:
        shape: what of a pod is the cluster's.
        api: a cluster that is connected already; None: the kubeconfig's, or the one around us.
        diary: a folder for transitions and intents; None: they are not kept.
        schedule_s: how long a pod may wait for a node.
        reflector: how pods are watched; None: as is good for a real cluster.
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
        schedule_s: float = SCHEDULE_S,
        watch_s: tuple[int, int] = (240, 300),
        read_s: float | None = None,
    ) -> None:
        self.kubeconfig = kubeconfig
        mine = owner.owner()
        self._shape = replace(shape or Shape(), owner=mine, worker=label(mine))
        self._api = api or connect(kubeconfig, context)
        self._diary, self._schedule_s = Diary(diary), schedule_s
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

    def refuse(self, order: PodOrder) -> str | None:
        """Why a cluster cannot run such a task, with the remedy; None if it can."""
        if (order.environment / COMPOSE).is_file():
            return (
                f"a multi-container task ({order.environment / COMPOSE}): the kubernetes runtime "
                "runs one container per task; leave this task out"
            )
        if order.network == "allowlist":
            return "a cluster's NetworkPolicy knows no host names, so no allowlist; use `public`"
        if order.egress_mbps is not None:
            return (
                "egress_mbps cannot be set in a cluster: which plugin shapes a pod's link, and "
                "whether it does, is not told; leave the factor out, or take the docker runtime"
            )
        if order.network in ("none", "internal"):
            return (
                "a NetworkPolicy is accepted and does nothing under many network plugins, so "
                f"`{order.network}` cannot be promised; run this task with the docker or process "
                "runtime"
            )
        if image_of(order, self._shape) is None:
            return (
                "a cluster pulls images and builds none: give the task environment.docker_image, "
                "or push an image per environment hash and set INFRANOISE_IMAGE_PREFIX"
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
        return KubernetesPod(self._cluster, order, self._shape, self._diary, self._schedule_s)

    def reap(self, *, now: float, alive: Collection[str] = ()) -> tuple[str, ...]:
        """Delete pods of ours whose time is over, whose worker on this machine is dead, or whose
        end a dead worker had begun.

        Raises:
            StartFailed: the cluster does not answer.
        """
        removed: list[str] = []
        begun = self._diary.unfinished()
        try:
            for pod in list(self._cluster.pods(f"{MANAGED_BY}=infranoise")):
                attempt, meant = _annotation(pod, "attempt"), pod["metadata"]["uid"] in begun
                if attempt and attempt not in alive and (meant or _abandoned(pod, now)):
                    removed += [attempt] if self._delete(pod) else []
            self._diary.tidy()
        except ApiTrouble as trouble:
            raise StartFailed(f"pods cannot be listed for the sweep: {trouble}") from trouble
        return tuple(removed)

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
        self._cluster.stop()

    def _delete(self, pod: Mapping[str, Any]) -> bool:
        """Delete one abandoned pod and see it gone; False if that did not succeed.

        It has its grace: without one the object goes at once, and its processes when they may.
        """
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        self._diary.swept(pod)
        self._diary.intent("cleanup", uid, name)
        try:
            self._cluster.delete(name, uid)
            if FINALIZER in pod["metadata"].get("finalizers", ()):
                self._cluster.release(name, uid)
            return self._cluster.gone(name, uid, within_s=GRACE_S + REMOVAL_SLACK_S)
        except ApiTrouble as trouble:
            LOG.warning("pod %s was not removed: %s", name, trouble)
            return False


def _annotation(pod: Mapping[str, Any], name: str) -> str:
    return str((pod["metadata"].get("annotations") or {}).get(f"{LABEL}{name}", ""))


def _abandoned(pod: Mapping[str, Any], now: float) -> bool:
    try:
        expired = float(_annotation(pod, "expires-at")) < now
    except ValueError:
        expired = False
    return expired or owner.dead(_annotation(pod, "owner"), one_machine=False)
