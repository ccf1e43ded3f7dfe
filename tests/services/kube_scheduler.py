"""A cluster scheduler's double: it binds pods by what their specs say, and nothing else.

Of the real one's rules: requests against allocatable, node selectors, taints and tolerations,
required anti-affinity by host name (in both directions), preferred node affinity; among equals the
node with the fewest pods.
"""

from typing import Any

from kube_store import Change, Object, Store

from infranoise.models.kube_quantity import quantity

LEAVES = "deletionTimestamp"


class Scheduler:
    """Binds pending pods whenever something changes."""

    def __init__(self, store: Store) -> None:
        self._store, self._busy = store, False
        store.heard.append(self._hear)

    def bound(self) -> dict[str, list[Object]]:
        """The pods of each node."""
        found: dict[str, list[Object]] = {}
        for pod in self._store.all_of("pods"):
            if node := pod["spec"].get("nodeName"):
                found.setdefault(node, []).append(pod)
        return found

    def _hear(self, change: Change) -> None:
        if self._busy or change.resource not in ("pods", "nodes"):
            return
        self._busy = True
        try:
            for pod in self._store.all_of("pods"):
                if not pod["spec"].get("nodeName") and LEAVES not in pod["metadata"]:
                    self._place(pod)
        finally:
            self._busy = False

    def _place(self, pod: Object) -> None:
        bound = self.bound()
        nodes = {node["metadata"]["name"]: node for node in self._store.all_of("nodes")}
        fit = [name for name, node in nodes.items() if _fits(pod, node, bound.get(name, []))]
        place, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        if fit:
            best = max(fit, key=lambda node: (_liking(pod, node), -len(bound.get(node, ())), node))
            self._store.bind(place, name, best)
            return
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                     "message": f"0/{len(nodes)} nodes are available"}  # fmt: skip
        self._store.status(place, name, {"conditions": [condition]})


def _fits(pod: Object, node: Object, there: list[Object]) -> bool:
    spec, labels = pod["spec"], node["metadata"].get("labels") or {}
    chosen = all(labels.get(k) == v for k, v in (spec.get("nodeSelector") or {}).items())
    borne = all(_borne(taint, spec.get("tolerations") or ()) for taint in _taints(node))
    apart = all(_apart(pod, other) and _apart(other, pod) for other in there)
    return chosen and borne and apart and _room(pod, node, there)


def _room(pod: Object, node: Object, there: list[Object]) -> bool:
    has = node["status"]["allocatable"]
    asked = [_requests(one) for one in (pod, *there)]
    return all(
        sum(quantity(one.get(kind, 0)) for one in asked) <= quantity(amount)
        for kind, amount in has.items()
    )


def _requests(pod: Object) -> Object:
    resources = pod["spec"]["containers"][0].get("resources") or {}
    return dict(resources.get("requests") or {}) | {"pods": 1}


def _taints(node: Object) -> list[Object]:
    taints = node["spec"].get("taints") or ()
    return [taint for taint in taints if taint["effect"] in ("NoSchedule", "NoExecute")]


def _borne(taint: Object, tolerations: Any) -> bool:
    return any(
        one.get("key") == taint["key"]
        and one.get("effect") in (None, taint["effect"])
        and (one["operator"] == "Exists" or one.get("value") == taint.get("value", ""))
        for one in tolerations
    )


def _apart(pod: Object, other: Object) -> bool:
    """Whether a pod bears another on its node."""
    away = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    terms = away.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
    return not any(_selected(other, term["labelSelector"]) for term in terms)


def _selected(pod: Object, selector: Object) -> bool:
    has = pod["metadata"].get("labels") or {}
    plain = all(has.get(k) == v for k, v in (selector.get("matchLabels") or {}).items())
    return plain and all(_meets(has, one) for one in selector.get("matchExpressions") or ())


def _meets(has: Object, one: Object) -> bool:
    value = has.get(one["key"])
    if one["operator"] == "Exists":
        return value is not None
    return (value in one["values"]) is (one["operator"] == "In")


def _liking(pod: Object, node: str) -> int:
    liked = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    terms = liked.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return sum(
        int(term["weight"])
        for term in terms
        if all(node in one["values"] for one in term["preference"]["matchFields"])
    )
