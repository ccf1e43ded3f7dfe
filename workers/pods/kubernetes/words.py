"""A pod's order as a manifest, in the API's words. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from ....models.limits import Limits
from ..pod import PodOrder
from .scripts import FIRST_PROCESS

LABEL = "infranoise.dev/"
MANAGED_BY = "app.kubernetes.io/managed-by"
CONTAINER = "main"
GRACE_S = 5
NAME_LENGTH = 63
DEADLINE_SLACK_S = 3600  # pull and start: the backstop must never be the first to act
SUFFIXES: dict[str, int | Decimal] = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
    "m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001"),
}  # fmt: skip
QUANTITY = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)")
Qos = Literal["constant", "natural"]


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a pod is the cluster's and not the task's.

    `qos` "constant" keeps every band Burstable, so that the memory ceiling alone moves: the
    kubelet evicts and pins CPUs by class. `image_prefix` names images by environment hash for
    tasks that name none.
    """

    namespace: str = "default"
    worker: str = ""
    owner: str = ""
    qos: Qos = "constant"
    image_prefix: str = ""
    service_account: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=dict)
    runtime_class: str | None = None
    priority_class: str | None = None


def quantity(text: str | int | float) -> Decimal:
    """A quantity in the API's words as a number.

    >>> quantity("64Mi"), quantity("250m"), quantity("1e3")
    (Decimal('67108864'), Decimal('0.250'), Decimal('1E+3'))

    Raises:
        ValueError: it is none.
    """
    found = QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in SUFFIXES:
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(found[1]) * SUFFIXES[found[2]]


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


def manifest(order: PodOrder, shape: Shape, now: float) -> dict[str, Any]:
    """The pod of an attempt.

    One bare pod that is never restarted: retries are the scheduler's, each an attempt of its own.

    Args:
        now: Unix seconds.
    """
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_S,
        "activeDeadlineSeconds": max(1, round(order.expires_at - now)) + DEADLINE_SLACK_S,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(order, shape)],
    }
    placed = {
        "serviceAccountName": shape.service_account,
        "nodeSelector": dict(shape.node_selector),
        "runtimeClassName": shape.runtime_class,
        "priorityClassName": shape.priority_class,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(order, shape),
        "spec": spec | {key: value for key, value in placed.items() if value},
    }


def _metadata(order: PodOrder, shape: Shape) -> dict[str, Any]:
    return {
        "name": pod_name(order),
        "labels": {
            MANAGED_BY: "infranoise",
            f"{LABEL}run": label(order.experiment),
            f"{LABEL}attempt": label(order.attempt_id),
            f"{LABEL}worker": label(shape.worker),
            f"{LABEL}expires-at": str(round(order.expires_at)),
        },
        "annotations": {
            f"{LABEL}attempt": order.attempt_id,
            f"{LABEL}trial": order.trial,
            f"{LABEL}owner": shape.owner,
            f"{LABEL}expires-at": repr(order.expires_at),
            "karpenter.sh/do-not-disrupt": "true",
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        },
    }


def _container(order: PodOrder, shape: Shape) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": CONTAINER,
        "image": image_of(order, shape),
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", FIRST_PROCESS],
        "env": [{"name": name, "value": value} for name, value in order.env.items()],
        "resources": resources(order.limits, shape.qos),
        "terminationMessagePolicy": "File",
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    return body | ({"workingDir": order.workdir} if order.workdir else {})


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
