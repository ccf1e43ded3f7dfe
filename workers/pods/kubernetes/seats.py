"""Where a pod may go, in the API's words; and which nodes are open to it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from ....models.seating import TOLERATION, ClusterPods

LABEL = "infranoise.dev/"
MANAGED_BY = "app.kubernetes.io/managed-by"
FINALIZER = f"{LABEL}evidence"
HOSTNAME = "kubernetes.io/hostname"
KEEPS_OFF = ("NoSchedule", "NoExecute")
PREFERENCE = 100  # the highest weight: our deal before the scheduler's own likings
MOST_TERMS = 64  # of a preference; a longer list costs the scheduler more than it is worth
Object = Mapping[str, Any]


def labels(band: str, slot: int | None) -> dict[str, str]:
    """The labels by which pods keep away from each other."""
    of_band = {f"{LABEL}band": band} if band else {}
    return of_band | ({} if slot is None else {f"{LABEL}slot": str(slot)})


def spec(asked: ClusterPods, dealt: Sequence[str], band: str, slot: int | None) -> dict[str, Any]:
    """The parts of a pod's spec that say where it goes.

    Args:
        dealt: the nodes to prefer.
        band: its label, where bands are isolated.
        slot: its number among the slots of a node, where these are counted.
    """
    away = _anti_affinity(asked, band, slot)
    affinity = {"nodeAffinity": _preference(dealt), "podAntiAffinity": away}
    parts = {
        "nodeSelector": dict(asked.node_selector),
        "tolerations": [toleration(text) for text in asked.tolerations],
        "runtimeClassName": asked.runtime_class,
        "priorityClassName": asked.priority_class,
        "affinity": {kind: said for kind, said in affinity.items() if said},
    }
    return {name: part for name, part in parts.items() if part}


def toleration(text: str) -> dict[str, str]:
    """A taint that does not keep a pod off, in the API's words.

    >>> toleration("pool=trials:NoSchedule")
    {'key': 'pool', 'operator': 'Equal', 'value': 'trials', 'effect': 'NoSchedule'}
    >>> toleration("pool")
    {'key': 'pool', 'operator': 'Exists'}
    """
    found = TOLERATION.fullmatch(text)
    assert found is not None  # checked where the experiment was read
    value, effect = found["value"], found["effect"]
    said = {"key": found["key"], "operator": "Exists" if value is None else "Equal"}
    said |= {} if value is None else {"value": value}
    return said | ({"effect": effect} if effect else {})


def open_to(node: Object, asked: ClusterPods) -> bool:
    """Whether a node takes pods of this kind now, as far as its object tells."""
    metadata, spec = node.get("metadata") or {}, node.get("spec") or {}
    has = metadata.get("labels") or {}
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    fits = all(has.get(name) == value for name, value in asked.node_selector.items())
    tolerated = [toleration(text) for text in asked.tolerations]
    kept_off = any(
        taint.get("effect") in KEEPS_OFF and not any(_tolerates(one, taint) for one in tolerated)
        for taint in spec.get("taints") or ()
    )
    return ready and fits and not kept_off and not spec.get("unschedulable")


def _tolerates(one: Object, taint: Object) -> bool:
    if one["key"] != taint["key"] or one.get("effect") not in (None, taint.get("effect")):
        return False
    return one["operator"] == "Exists" or bool(one["value"] == taint.get("value", ""))


def _preference(dealt: Sequence[str]) -> dict[str, Any]:
    terms = [
        {
            "weight": PREFERENCE,
            "preference": {
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]
            },
        }
        for node in dealt[:MOST_TERMS]
    ]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms} if terms else {}


def _anti_affinity(asked: ClusterPods, band: str, slot: int | None) -> dict[str, Any]:
    terms = []
    if slot is not None:
        terms.append(_away_from({"matchLabels": {f"{LABEL}slot": str(slot)}}))
    if asked.isolate == "band" and band:
        others = {"key": f"{LABEL}band", "operator": "NotIn", "values": [band]}
        known = {"key": f"{LABEL}band", "operator": "Exists"}
        terms.append(_away_from({"matchExpressions": [known, others]}))
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms} if terms else {}


def _away_from(selector: dict[str, Any]) -> dict[str, Any]:
    ours = {MANAGED_BY: "infranoise"} | selector.get("matchLabels", {})
    return {"labelSelector": selector | {"matchLabels": ours}, "topologyKey": HOSTNAME}
