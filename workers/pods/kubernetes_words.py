"""A pod's order as a manifest, and the API's words as limits. Pure."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from ...models.limits import Effective, Limits
from ..meters.cgroup import count, quota_v1, quota_v2
from . import group
from .kubernetes_scripts import FIRST_PROCESS
from .pod import PodOrder

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
Object = Mapping[str, Any]


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


def surprises(asked: Object, admitted: Object) -> tuple[str, ...]:
    """Where the resources of an admitted container are not what was asked, in words.

    LimitRanges, webhooks and autoscalers change them silently.
    """
    found = []
    for kind in ("requests", "limits"):
        was, now = asked.get(kind) or {}, admitted.get(kind) or {}
        for name in sorted({*was, *now}):
            if _amount(was.get(name)) != _amount(now.get(name)):
                found.append(f"{name} {kind}: asked {was.get(name)}, admitted {now.get(name)}")
    return tuple(found)


def _amount(text: str | None) -> Decimal | None:
    return None if text is None else quantity(text)


def files(text: str) -> dict[str, str]:
    """What `READ_FILES` printed, by path below the cgroup's mount; /proc/net/dev as it is.

    >>> files("== /sys/fs/cgroup/memory.peak\\n42\\n")
    {'memory.peak': '42\\n'}
    """
    found: dict[str, str] = {}
    for part in text.split("== /")[1:]:
        path, _, content = part.partition("\n")
        found[path.removeprefix("sys/fs/cgroup/")] = content
    return found


def effective(pod: Object, inside: Mapping[str, str], limits: Limits) -> Effective:
    """Limits in force: what the API admitted, as the pod sees it from inside.

    Args:
        pod: the running pod's object.
        inside: as `files` gives it.
        limits: as asked.
    """
    container = pod["spec"]["containers"][0]
    admitted = container.get("resources") or {}
    got = Effective(
        memory_floor_bytes=_bytes(admitted, "requests", "memory") or None,
        memory_ceiling_bytes=_bytes(admitted, "limits", "memory"),
        storage_ceiling_bytes=_bytes(admitted, "limits", "ephemeral-storage"),
        enforcement=f"kubernetes:cgroup-v{2 if 'memory.events' in inside else 1}",
        **(_seen_v2(inside) if "memory.events" in inside else _seen_v1(inside)),
    )
    return got.model_copy(update={"differs": differences(limits, got, inside)})


def differences(limits: Limits, got: Effective, inside: Mapping[str, str]) -> tuple[str, ...]:
    """Each limit that was asked for and is not in force, in words.

    Who dies at the ceiling and how many processes there may be is the kubelet's to say.
    """
    found = list(group.differences(limits, got))
    seen = count(inside.get("memory.max") or inside.get("memory/memory.limit_in_bytes") or "")
    asked = limits.memory_ceiling_bytes
    if asked is not None and seen is not None and abs(seen - asked) >= group.PAGE_BYTES:
        found.append(f"memory ceiling: asked {asked}, the pod sees {seen}")
    return tuple(found)


def _bytes(admitted: Object, kind: str, name: str) -> int | None:
    text = (admitted.get(kind) or {}).get(name)
    return None if text is None else int(quantity(text))


def _seen_v1(inside: Mapping[str, str]) -> dict[str, Any]:
    quota, period = inside.get("cpu/cpu.cfs_quota_us"), inside.get("cpu/cpu.cfs_period_us")
    both = count(inside.get("memory/memory.memsw.limit_in_bytes", ""))
    top = count(inside.get("memory/memory.limit_in_bytes", ""))
    return {
        "memory_and_swap_bytes": (both or top) if top and top < 2**62 else None,
        "cpu_shares": count(inside.get("cpu/cpu.shares", "")),
        "cpu_ceiling": quota_v1(quota, period) if quota and period else None,
        "cpuset": inside.get("cpuset/cpuset.cpus", "").strip() or None,
        "pids": count(inside.get("pids/pids.max", "")),
        "oom_scope": "process",
    }


def _seen_v2(inside: Mapping[str, str]) -> dict[str, Any]:
    weight, grouped = count(inside.get("cpu.weight", "")), inside.get("memory.oom.group", "")
    return {
        # The kubelet gives a pod no swap unless it is told to.
        "memory_and_swap_bytes": count(inside.get("memory.max", "")),
        "cpu_shares": group.shares_of(weight) if weight else None,
        "cpu_ceiling": quota_v2(inside["cpu.max"]) if "cpu.max" in inside else None,
        "cpuset": inside.get("cpuset.cpus.effective", "").strip() or None,
        "pids": count(inside.get("pids.max", "")),
        "oom_scope": "pod" if grouped.strip() == "1" else "process",
    }
