"""From the API's objects to the facts of one pod. Pure: plain decoded JSON in, values out."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from .kube_evidence import Intent, KubeEvidence, NodeSeen, WrapperReport
from .tri import Tri

Object = Mapping[str, Any]
OOM_KILLED = "OOMKilled"
# The kubelet invents an end for a container that it knows nothing of.
NEVER_RAN = ("ContainerStatusUnknown",)


@dataclass(frozen=True, slots=True)
class Transition:
    """One state of a pod in its history. `ours`: it came after we had asked for the pod's end."""

    kind: str
    pod: dict[str, Any]
    ours: bool = False


def facts(
    history: Sequence[Transition],
    *,
    node: NodeSeen | None = None,
    events: Iterable[Object] = (),
    intent: Intent = "",
) -> KubeEvidence:
    """What a pod's history says of its end; later states add to earlier ones.

    A state that our own deletion brought about tells of counters and of kills, never of a cause.
    """
    if not history:
        return KubeEvidence(intent=intent, troubles=troubles(events))
    free = [step for step in history if not step.ours] or list(history[:1])
    last = free[-1].pod
    status = last.get("status") or {}
    found = _pod_facts(status) | _container_facts(_containers(last))
    every = [container for step in history for container in _containers(step.pod)]
    gone = any(step.kind in ("DELETED", "VANISHED") for step in free)
    ended = found["exit_code"] is not None or status.get("phase") in ("Succeeded", "Failed")
    return KubeEvidence(
        uid=str(last.get("metadata", {}).get("uid", "")),
        **found,
        disrupted_at=_first_disruption(free),
        deleted=gone or any(_deletion(step.pod) for step in free),
        vanished=gone and not ended and not any(_deletion(step.pod) for step in free),
        oom_reason=any(_told_oom(container) for container in every),
        report=_last_report(every),
        intent=intent,
        node=node or NodeSeen(name=str(last.get("spec", {}).get("nodeName") or "")),
        troubles=troubles(events),
    )


def wrapper_report(message: str | None) -> WrapperReport | None:
    """A termination message as the wrapper's report; None where it is anything else.

    Log tails and errors of the kubelet come in the same field.

    >>> wrapper_report('{"rc":0,"before":{"oom_kill":0},"after":{"oom_kill":1}}').oom_kills
    1
    >>> wrapper_report("Killed")
    """
    try:
        told = json.loads(message or "")
        return WrapperReport(
            rc=told["rc"],
            oom_kills_before=told["before"]["oom_kill"],
            oom_kills_after=told["after"]["oom_kill"],
            peak_bytes=told["after"].get("peak"),
            wall_before=told["before"].get("wall"),
            wall_after=told["after"].get("wall"),
            up_before=told["before"].get("up"),
            up_after=told["after"].get("up"),
        )
    except (ValueError, TypeError, KeyError, AttributeError, ValidationError, RecursionError):
        return None


def node_seen(name: str, node: Object | None) -> NodeSeen:
    """A node's state from its object; None: the API has none of that name."""
    if node is None:
        return NodeSeen(name=name, exists="no", ready="unknown")
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((c["status"] for c in conditions if c["type"] == "Ready"), "Unknown")
    words: dict[str, Tri] = {"True": "yes", "False": "no"}
    return NodeSeen(
        name=name,
        exists="yes",
        ready=words.get(ready, "unknown"),
        taints=tuple(t["key"] for t in (node.get("spec") or {}).get("taints") or ()),
        pressures=tuple(
            c["type"] for c in conditions if c["status"] == "True" and c["type"] != "Ready"
        ),
    )


def troubles(events: Iterable[Object]) -> tuple[str, ...]:
    """A pod's warning events as "Reason: message", each once."""
    found = (
        f"{event.get('reason', '')}: {event.get('message', '')}"
        for event in events
        if event.get("type") == "Warning"
    )
    return tuple(dict.fromkeys(found))


def unix(moment: str | None) -> float | None:
    """The API's date as Unix seconds; the year 1970 stands for "never"."""
    if not moment:
        return None
    return datetime.fromisoformat(moment).timestamp() or None


def _containers(pod: Object) -> list[Object]:
    return list((pod.get("status") or {}).get("containerStatuses") or ())


def _deletion(pod: Object) -> str | None:
    return (pod.get("metadata") or {}).get("deletionTimestamp")


def _condition(status: Object, kind: str) -> Object:
    return next((c for c in status.get("conditions") or () if c["type"] == kind), {})


def _pod_facts(status: Object) -> dict[str, Any]:
    disruption = _condition(status, "DisruptionTarget")
    scheduled = _condition(status, "PodScheduled")
    disrupted, unscheduled = disruption.get("status") == "True", scheduled.get("status") == "False"
    return {
        "phase": status.get("phase") or "",
        "reason": status.get("reason") or "",
        "message": status.get("message") or "",
        "disruption": (disruption.get("reason") or "") if disrupted else "",
        "disruption_message": (disruption.get("message") or "") if disrupted else "",
        "unscheduled": (scheduled.get("reason") or "") if unscheduled else "",
        "unscheduled_message": (scheduled.get("message") or "") if unscheduled else "",
    }


def _container_facts(containers: Sequence[Object]) -> dict[str, Any]:
    first = containers[0] if containers else {}
    state = first.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated") or {}
    return {
        "waiting": waiting.get("reason") or "",
        "waiting_message": waiting.get("message") or ended.get("message") or "",
        "exit_code": ended.get("exitCode"),
        "ended_as": ended.get("reason") or "",
        "finished_at": unix(ended.get("finishedAt")),
        "restarts": first.get("restartCount") or 0,
    }


def _told_oom(container: Object) -> bool:
    lives = (container.get("state") or {}, container.get("lastState") or {})
    return any((life.get("terminated") or {}).get("reason") == OOM_KILLED for life in lives)


def _last_report(containers: Sequence[Object]) -> WrapperReport | None:
    ends = [(c.get("state") or {}).get("terminated") or {} for c in containers]
    told = [report for end in ends if (report := wrapper_report(end.get("message")))]
    return told[-1] if told else None


def _first_disruption(history: Iterable[Transition]) -> float | None:
    """When someone first asked for the pod's end: `deletionTimestamp` lies a grace after that."""
    asked = [moment for step in history for moment in _asked(step.pod)]
    return min(asked, default=None)


def _asked(pod: Object) -> Iterable[float]:
    disruption = _condition(pod.get("status") or {}, "DisruptionTarget")
    if disruption.get("status") == "True" and (at := unix(disruption.get("lastTransitionTime"))):
        yield at
    metadata = pod.get("metadata") or {}
    if at := unix(metadata.get("deletionTimestamp")):
        yield at - (metadata.get("deletionGracePeriodSeconds") or 0)
