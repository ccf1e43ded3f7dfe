"""The nodes of a cluster as they come and go, under one watch: their state then, and what they are.

Where nodes may not be watched, one is asked for when it matters; where that may not be, nothing is
known of it.
"""

import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from ....models.kube_evidence import NodeSeen
from ....models.kube_reading import node_seen
from .api import Api, ApiRefused, ApiTrouble, Ask
from .feed import Feed

PATH = "/api/v1/nodes"
NOT_FOUND = 404
KEPT_S = 3600.0  # of a node's past states: no question reaches further back
BEFORE_S = 60.0  # a node falls silent before anyone asks for the end of its pods
Note = Callable[[NodeSeen], None]
Object = dict[str, Any]


class Nodes:
    """Every node, its present object and its late states. Safe to use from many threads.

    Args:
        note: told of every change of a node's state before anyone can act on it.
    """

    def __init__(self, api: Api, note: Note = lambda seen: None) -> None:
        self._api, self._note = api, note
        self._lock = threading.Lock()
        self._objects: dict[str, Object] = {}
        self._states: dict[str, list[tuple[float, NodeSeen]]] = {}
        self._before_list: dict[str, str] = {}
        self.feed = Feed(api, PATH, {}, self)

    def objects(self) -> tuple[Object, ...]:
        """Every node that is known, trimmed to what we read."""
        with self._lock:
            return tuple(self._objects.values())

    def object(self, name: str) -> Object | None:
        """One node's object; None where it is gone or may not be read."""
        with self._lock:
            known = self._objects.get(name)
        if known is not None or self.feed.synced:
            return known
        try:
            return self._api.ask(Ask("GET", f"{PATH}/{name}"), patience_s=5.0)
        except ApiTrouble:
            return None

    def seen(self, name: str, since: float | None = None) -> NodeSeen:
        """A node as it was at the worst since a moment, for what it did to pods then.

        Args:
            since: Unix seconds of this machine; None: as it is now.
        """
        if not name:
            return NodeSeen()
        if not self.feed.synced:
            return self._asked(name)
        with self._lock:
            states = self._states.get(name, ())
            from_ = time.time() if since is None else since - BEFORE_S
            held = [
                state
                for number, (_, state) in enumerate(states)
                if number + 1 == len(states) or states[number + 1][0] > from_
            ]
        if not held:
            return node_seen(name, None)
        return next((state for state in held if state.lost), held[-1])

    def listing(self) -> None:
        """A list begins."""
        with self._lock:
            self._before_list = {o["metadata"]["uid"]: n for n, o in self._objects.items()}

    def take(self, kind: str, found: Object) -> None:
        """A node as it is now."""
        name = found["metadata"]["name"]
        if kind == "DELETED":
            self._went(name)
            return
        with self._lock:
            self._objects[name] = _trimmed(found)
        self._became(node_seen(name, found))

    def listed(self, uids: Collection[str]) -> None:
        """A node that is in no list is gone."""
        for uid, name in self._before_list.items():
            if uid not in uids:
                with self._lock:
                    replaced = self._objects.get(name, {}).get("metadata", {}).get("uid") != uid
                if not replaced:
                    self._went(name)

    def _went(self, name: str) -> None:
        with self._lock:
            self._objects.pop(name, None)
        self._became(node_seen(name, None))

    def _became(self, state: NodeSeen) -> None:
        now = time.time()
        with self._lock:
            past = self._states.setdefault(state.name, [])
            if past and past[-1][1] == state:
                return
            late = [one for one in past[:-1] if one[0] > now - KEPT_S]
            self._states[state.name] = [*late, *past[-1:], (now, state)]
        self._note(state)

    def _asked(self, name: str) -> NodeSeen:
        try:
            return node_seen(name, self._api.ask(Ask("GET", f"{PATH}/{name}")))
        except ApiRefused as refusal:
            return node_seen(name, None) if refusal.status == NOT_FOUND else NodeSeen(name=name)
        except ApiTrouble:
            return NodeSeen(name=name)


def _trimmed(node: Object) -> Object:
    """Without the list of its images and what else is long and never read."""
    status, metadata = node.get("status") or {}, node["metadata"]
    kept = ("capacity", "allocatable", "conditions", "nodeInfo")
    return {
        "metadata": {k: metadata[k] for k in ("name", "uid", "labels") if k in metadata},
        "spec": node.get("spec") or {},
        "status": {k: status[k] for k in kept if k in status},
    }
