"""What a cluster gave one attempt: the pod as it was admitted, placed and started."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .kube_reading import unix
from .value import Value

Object = Mapping[str, Any]
PULLED = re.compile(r"Successfully pulled image .* in ([\d.]+(?:ms|s|m)(?:[\d.]+s)?)")
DURATION = re.compile(r"(?:([\d.]+)m(?!s))?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


class KubePod(Value):
    """Times are Unix seconds by the cluster's clock, grain one second; None: it did not say.

    `image_id` and `container_id` are the node's own words. `resources` are those in force by the
    container's status. `co_tenants` counts other pods of the same worker on the node when this one
    came to run. `dealt` names the nodes that were preferred for it; `user` is the numeric user that
    its commands run as. `pull_s` is what pulling its image took, 0 where it was there. `skew_s` is
    how far the cluster's clock was ahead of the worker's.
    """

    uid: str
    name: str
    namespace: str
    node: str
    cluster_version: str = ""
    dealt: tuple[str, ...] = ()
    co_tenants: int | None = None
    qos_class: str = ""
    priority: int | None = None
    priority_class: str = ""
    runtime_class: str = ""
    service_account: str = ""
    dns_policy: str = ""
    pod_ip: str = ""
    image_id: str = ""
    container_id: str = ""
    user: int | None = None
    restarts: int = 0
    resources: dict[str, dict[str, str]] | None = None
    created_at: float | None = None
    scheduled_at: float | None = None
    accepted_at: float | None = None
    ready_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    pull_s: float | None = None
    skew_s: float | None = None


def kube_pod(pod: Object, events: Iterable[Object] = ()) -> KubePod:
    """What a pod's object tells of how it was admitted, placed and started.

    Args:
        events: those about it, for the seconds of its pull.
    """
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    container: Object = next(iter(status.get("containerStatuses") or ()), {})
    state = container.get("state") or {}
    ran = state.get("running") or state.get("terminated") or {}
    return KubePod(
        uid=metadata["uid"],
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        node=spec.get("nodeName") or "",
        qos_class=status.get("qosClass") or "",
        priority=spec.get("priority"),
        priority_class=spec.get("priorityClassName") or "",
        runtime_class=spec.get("runtimeClassName") or "",
        service_account=spec.get("serviceAccountName") or "",
        dns_policy=spec.get("dnsPolicy") or "",
        pod_ip=status.get("podIP") or "",
        image_id=container.get("imageID") or "",
        container_id=container.get("containerID") or ran.get("containerID") or "",
        restarts=container.get("restartCount") or 0,
        resources=_plain(container.get("resources")),
        created_at=unix(metadata.get("creationTimestamp")),
        scheduled_at=_since(status, "PodScheduled"),
        accepted_at=unix(status.get("startTime")),
        ready_at=_since(status, "ContainersReady"),
        started_at=unix(ran.get("startedAt")),
        finished_at=unix(ran.get("finishedAt")),
        pull_s=_pull_s(events),
    )


def seconds(duration: str) -> float | None:
    """A duration in Go's words; None where it is none.

    >>> seconds("1.5s"), seconds("2m3s"), seconds("431ms")
    (1.5, 123.0, 0.431)
    """
    found = DURATION.fullmatch(duration)
    if found is None or not duration:
        return None
    minutes, whole, thousandths = (float(part or 0) for part in found.groups())
    return 60 * minutes + whole + thousandths / 1000


def _pull_s(events: Iterable[Object]) -> float | None:
    """What was waited for an image; 0 where it lay on the node already."""
    told = [str(event.get("message", "")) for event in events if event.get("reason") == "Pulled"]
    for message in told:
        if found := PULLED.search(message):
            return seconds(found[1])
    return 0.0 if told else None


def _since(status: Object, kind: str) -> float | None:
    conditions = status.get("conditions") or ()
    return next(
        (
            unix(c.get("lastTransitionTime"))
            for c in conditions
            if c["type"] == kind and c["status"] == "True"
        ),
        None,
    )


def _plain(resources: Object | None) -> dict[str, dict[str, str]] | None:
    if resources is None:
        return None
    return {kind: dict(resources[kind]) for kind in ("requests", "limits") if resources.get(kind)}
