"""A pod's order as a manifest, in the API's words. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ....models.limits import Limits
from ....models.seating import ClusterPods
from ..pod import PodOrder
from . import seats
from .scripts import FIRST_PROCESS
from .seats import FINALIZER, LABEL, MANAGED_BY

Qos = Literal["constant", "natural"]
CONTAINER = "main"
GRACE_S = 5
NAME_LENGTH = 63
DEADLINE_SLACK_S = 3600  # pull and start: the backstop must never be the first to act


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a pod is its worker's and not the experiment's.

    `image_prefix` names images by environment hash for tasks that name none; `service_account` is
    one without rights, None: the namespace's default one.
    """

    namespace: str = "default"
    worker: str = ""
    owner: str = ""
    image_prefix: str = ""
    service_account: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What was settled for one pod just before it is made.

    `slot` is its number among those of a node, `dealt` the nodes to prefer, `owner` the reference
    to its run's ConfigMap. None: there is none.
    """

    slot: int | None = None
    dealt: tuple[str, ...] = ()
    owner: Mapping[str, Any] | None = None


def pod_name(order: PodOrder) -> str:
    """A name that only this attempt bears, so that a create that is sent twice makes one pod."""
    text = f"{order.experiment}/{order.trial}/{order.attempt_id}"
    return f"infranoise-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def label(text: str) -> str:
    """A text as a label's value: as it is where it may be, else its hash."""
    if re.fullmatch(r"[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", text):
        return text
    return hashlib.sha256(text.encode()).hexdigest()[:NAME_LENGTH]


def image_of(order: PodOrder, shape: Shape) -> str | None:
    """The image of an order: named by the task, or by prefix and environment hash."""
    if order.image or not shape.image_prefix:
        return order.image
    return f"{shape.image_prefix}:{order.environment_hash.removeprefix('sha256:')[:128]}"


def asked_of(order: PodOrder) -> ClusterPods:
    """What an order asks of the cluster; the defaults where it has no seat."""
    return order.seat.asked if order.seat else ClusterPods()


def manifest(
    order: PodOrder, shape: Shape, now: float, place: Place | None = None
) -> dict[str, Any]:
    """The pod of an attempt.

    One bare pod that is never restarted: retries are the scheduler's, each an attempt of its own.
    Nothing in it is secret: the task's environment goes to its commands, never into the object.

    Args:
        now: Unix seconds.
    """
    place, asked = place or Place(), asked_of(order)
    band = label(order.seat.band) if order.seat and order.seat.band else ""
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "activeDeadlineSeconds": max(1, round(order.expires_at - now)) + DEADLINE_SLACK_S,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(order, shape)],
    }
    if shape.service_account:
        spec["serviceAccountName"] = shape.service_account
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(order, shape, place, band),
        "spec": spec | seats.spec(asked, place.dealt, band, place.slot),
    }


def _metadata(order: PodOrder, shape: Shape, place: Place, band: str) -> dict[str, Any]:
    owned = {"ownerReferences": [dict(place.owner)]} if place.owner else {}
    held = {"finalizers": [FINALIZER]} if asked_of(order).evidence_finalizer else {}
    return (
        owned
        | held
        | {
            "name": pod_name(order),
            "labels": {
                MANAGED_BY: "infranoise",
                f"{LABEL}run": label(order.experiment),
                f"{LABEL}attempt": label(order.attempt_id),
                f"{LABEL}worker": label(shape.worker),
                f"{LABEL}expires-at": str(round(order.expires_at)),
                **seats.labels(band, place.slot),
            },
            "annotations": {
                f"{LABEL}attempt": order.attempt_id,
                f"{LABEL}trial": order.trial,
                f"{LABEL}owner": shape.owner,
                f"{LABEL}expires-at": repr(order.expires_at),
                **_link(order),
                "karpenter.sh/do-not-disrupt": "true",
                "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
            },
        }
    )


def _container(order: PodOrder, shape: Shape) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": CONTAINER,
        "image": image_of(order, shape),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", FIRST_PROCESS],
        "resources": resources(order.limits, asked_of(order).qos),
        "terminationMessagePolicy": "File",
        "securityContext": {"allowPrivilegeEscalation": False} | _user(asked_of(order)),
    }
    return body | ({"workingDir": order.workdir} if order.workdir else {})


def _link(order: PodOrder) -> dict[str, str]:
    """What asks a CNI plugin to shape a pod's link; many know no such thing."""
    if order.egress_mbps is None or order.egress_mbps == "unlimited":
        return {}
    cap = f"{order.egress_mbps:g}M"
    return {f"kubernetes.io/{way}-bandwidth": cap for way in ("egress", "ingress")}


def _user(asked: ClusterPods) -> dict[str, int]:
    return {} if asked.run_as_user is None else {"runAsUser": asked.run_as_user}


def resources(limits: Limits, qos: Qos = "constant") -> dict[str, dict[str, str]]:
    """Floors as requests, ceilings as limits.

    A limit without a request would become the request, so that no floor is stated as 0.

    >>> resources(Limits(memory_floor_bytes=1024, memory_ceiling_bytes=2048))
    {'requests': {'cpu': '1m', 'memory': '1024'}, 'limits': {'memory': '2048'}}
    """
    cpu, top = _milli(limits.cpu_floor), _milli(limits.cpu_ceiling)
    if qos == "constant":
        cpu = max(1, cpu if top is None or cpu < top else top - 1)
    ceilings = {
        "memory": limits.memory_ceiling_bytes,
        "ephemeral-storage": limits.storage_ceiling_bytes,
    }
    floors = {
        "memory": limits.memory_floor_bytes,
        "ephemeral-storage": limits.storage_floor_bytes,
    }
    stated = {name: str(floor or 0) for name, floor in floors.items() if floor or ceilings[name]}
    capped = {name: str(top) for name, top in ceilings.items() if top}
    return {
        "requests": {"cpu": f"{cpu}m"} | stated,
        "limits": capped | ({"cpu": f"{top}m"} if top else {}),
    }


def _milli(cores: float | None) -> int:
    return 0 if cores is None else max(1, round(cores * 1000))
