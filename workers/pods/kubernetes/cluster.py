"""One namespace of a cluster: its watches, and the verbs on its pods."""

import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any

from ....models.errors import Unschedulable
from ....models.kube_evidence import KubeEvidence
from ....models.kube_quantity import quantity
from ....models.tri import Tri
from .api import Api, ApiRefused, ApiTrouble, Ask
from .berths import Berths
from .events import Events
from .feed import Feed
from .nodes import Nodes
from .profiles import Profiles
from .runs import Runs
from .seats import FINALIZER, LABEL, MANAGED_BY
from .watch import Reflector
from .words import GRACE_S

SYNC_S = 10.0  # how long the first list of nodes is waited for
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
CREATES = 8  # in flight at once: more only makes the API say 429
FORBIDDEN, NOT_FOUND, CONFLICT = 403, 404, 409
EXISTS, QUOTA = "AlreadyExists", "exceeded quota"
QUOTA_PAUSE_S = 2.0
FIRST_LOOK_S = 0.05


class Cluster:
    """One namespace of a cluster. Safe to use from many threads."""

    def __init__(
        self,
        api: Api,
        namespace: str,
        reflector: Reflector | None = None,
        nodes: Nodes | None = None,
        events: Events | None = None,
    ) -> None:
        self.api, self.namespace = api, namespace
        self.reflector = reflector or Reflector(api, namespace, f"{MANAGED_BY}=infranoise")
        self.nodes, self.events = nodes or Nodes(api), events or Events(api, namespace)
        self.runs, self.berths = Runs(api, namespace), Berths()
        self.profiles = Profiles(api, self.nodes)
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._creates = threading.BoundedSemaphore(CREATES)

    def start(self) -> None:
        """Begin to watch pods, nodes and events; at once where that has begun."""
        for feed in self._feeds:
            feed.start()

    def stop(self) -> None:
        """Begin no other watch."""
        for feed in self._feeds:
            feed.stop()

    @property
    def _feeds(self) -> tuple[Feed, ...]:
        return self.reflector.feed, self.nodes.feed, self.events.feed

    @cached_property
    def version(self) -> str:
        """Which Kubernetes this is; empty where it does not say."""
        try:
            told = self.api.ask(Ask("GET", "/version"), patience_s=5.0)
        except ApiTrouble:
            return ""
        return str(told.get("gitVersion", ""))

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
                if refusal.status == CONFLICT and refusal.reason == EXISTS:
                    return self._the_one_we_made(manifest, refusal)
                full = refusal.status == FORBIDDEN and QUOTA in str(refusal)
                # Any other conflict is over the quota's own object: many creates change it at once.
                if not (full or refusal.status == CONFLICT):
                    raise
                if time.monotonic() + QUOTA_PAUSE_S > until:
                    if not full:
                        raise
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

    def release(self, name: str, uid: str) -> None:
        """Take our finalizer off a pod, so that it may go; nothing happens where it is gone.

        Others' finalizers stay: who set them waits for them.

        Raises:
            ApiTrouble
        """
        patch = {"metadata": {"uid": uid, "$deleteFromPrimitiveList/finalizers": [FINALIZER]}}
        try:
            ask = Ask("PATCH", self.path(name), body=patch, content_type=STRATEGIC_PATCH)
            self.api.ask(ask)
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

    def fits(self, requests: dict[str, str]) -> Tri:
        """Whether some node's allocatable would hold a floor; unknown where we may not look."""
        nodes = self.nodes.objects() if self.nodes.feed.wait(SYNC_S) else ()
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
