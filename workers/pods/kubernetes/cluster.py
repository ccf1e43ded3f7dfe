"""The verbs of one namespace: make a pod, delete it, ask of nodes and events."""

import logging
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ....models.errors import Unschedulable
from ....models.kube_evidence import KubeEvidence, NodeSeen
from ....models.kube_reading import node_seen
from ....models.tri import Tri
from .api import Api, ApiRefused, ApiTrouble, Ask
from .watch import Reflector
from .words import GRACE_S, LABEL, quantity

LOG = logging.getLogger(__name__)
CREATES = 8  # in flight at once: more only makes the API say 429
FORBIDDEN, NOT_FOUND, CONFLICT = 403, 404, 409
QUOTA = "exceeded quota"
QUOTA_PAUSE_S = 2.0
FIRST_LOOK_S = 0.05


class Cluster:
    """One namespace of a cluster. Safe to use from many threads."""

    def __init__(self, api: Api, namespace: str, reflector: Reflector) -> None:
        self.api, self.namespace, self.reflector = api, namespace, reflector
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._creates = threading.BoundedSemaphore(CREATES)

    def path(self, name: str) -> str:
        """Where a pod's object lies."""
        return f"{self._pods}/{name}"

    def create(self, manifest: dict[str, Any], patience_s: float) -> dict[str, Any]:
        """Make a pod, once: a create whose answer was lost finds the pod that it made.

        A full quota is waited for.

        Raises:
            Unschedulable: the quota stayed full for `patience_s`.
            ApiTrouble
        """
        until = time.monotonic() + patience_s
        while True:
            try:
                with self._creates:
                    return self.api.ask(Ask("POST", self._pods, body=manifest))
            except ApiRefused as refusal:
                if refusal.status == CONFLICT:
                    return self._the_one_we_made(manifest, refusal)
                if refusal.status != FORBIDDEN or QUOTA not in str(refusal):
                    raise
                if time.monotonic() + QUOTA_PAUSE_S > until:
                    raise Unschedulable(f"the quota stays full: {refusal}", quota=True) from refusal
                time.sleep(QUOTA_PAUSE_S)

    def _the_one_we_made(self, manifest: dict[str, Any], refusal: ApiRefused) -> dict[str, Any]:
        found = self.api.ask(Ask("GET", self.path(manifest["metadata"]["name"])))
        owner = f"{LABEL}owner"
        mine = manifest["metadata"]["annotations"][owner]
        if (found["metadata"].get("annotations") or {}).get(owner) != mine:
            raise refusal
        return found

    def delete(self, name: str, uid: str, grace_s: int = GRACE_S) -> None:
        """Ask for a pod's end; nothing happens where it is gone, or another bears its name.

        Raises:
            ApiTrouble
        """
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": grace_s,
            "preconditions": {"uid": uid},
        }
        try:
            self.api.ask(Ask("DELETE", self.path(name), body=body))
        except ApiRefused as refusal:
            if refusal.status not in (NOT_FOUND, CONFLICT):
                raise

    def gone(self, name: str, uid: str, *, within_s: float) -> bool:
        """Wait until a pod's object is no more; False if that outlasts `within_s`.

        Raises:
            ApiTrouble
        """
        until, pause_s = time.monotonic() + within_s, FIRST_LOOK_S
        while time.monotonic() < until:
            try:
                if self.api.ask(Ask("GET", self.path(name)))["metadata"]["uid"] != uid:
                    return True
            except ApiRefused as refusal:
                if refusal.status != NOT_FOUND:
                    raise
                return True
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 1.0)
        return False

    def pods(self, selector: str) -> Iterator[dict[str, Any]]:
        """Every pod with these labels, page by page.

        Raises:
            ApiTrouble
        """
        query: dict[str, str | int] = {"labelSelector": selector, "limit": 500}
        while True:
            page = self.api.ask(Ask("GET", self._pods, query))
            yield from page["items"]
            onward = page["metadata"].get("continue")
            if not onward:
                return
            query = query | {"continue": onward}

    def node(self, name: str) -> NodeSeen:
        """A node as it is now; unknown where we may not ask."""
        if not name:
            return NodeSeen()
        try:
            return node_seen(name, self.api.ask(Ask("GET", f"/api/v1/nodes/{name}")))
        except ApiRefused as refusal:
            return node_seen(name, None) if refusal.status == NOT_FOUND else NodeSeen(name=name)
        except ApiTrouble:
            return NodeSeen(name=name)

    def events(self, uid: str) -> list[dict[str, Any]]:
        """What the cluster noted of a pod; nothing where we may not ask. Evidence, no trigger."""
        query = {"fieldSelector": f"involvedObject.uid={uid}"}
        try:
            path = f"/api/v1/namespaces/{self.namespace}/events"
            return list(self.api.ask(Ask("GET", path, query))["items"])
        except ApiTrouble as trouble:
            LOG.info("the events of a pod cannot be read: %s", trouble)
            return []

    def fits(self, requests: dict[str, str]) -> Tri:
        """Whether some node's allocatable would hold a floor; unknown where we may not ask."""
        try:
            nodes = self.api.ask(Ask("GET", "/api/v1/nodes"), patience_s=0)["items"]
        except ApiTrouble:
            return "unknown"
        if not nodes:  # an empty pool may grow
            return "unknown"
        return "yes" if any(_holds(node, requests) for node in nodes) else "no"


def _holds(node: dict[str, Any], requests: dict[str, str]) -> bool:
    has = (node.get("status") or {}).get("allocatable") or {}
    return all(
        quantity(amount) <= (quantity(has[name]) if name in has else Decimal(0))
        for name, amount in requests.items()
    )


def unfitting(requests: dict[str, str]) -> tuple[Unschedulable, KubeEvidence]:
    """What a floor that no node has room for even when empty is: the experiment's own mistake."""
    words = f"the floor of {requests} is more than any node's allocatable"
    seen = KubeEvidence(
        overdue="schedule", unscheduled="Unschedulable", unscheduled_message=words, floor_fits="no"
    )
    remedy = "; lower the floor, or add a larger node"
    return Unschedulable(words + remedy, config_error=True), seen
