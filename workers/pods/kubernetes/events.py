"""What a cluster notes of its pods, under one watch. Evidence, never a trigger: events come late,
aggregated, and are forgotten by the cluster within the hour.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any

from .api import Api, ApiTrouble, Ask
from .feed import Feed

LOG = logging.getLogger(__name__)
PODS_KEPT = 4096
Object = dict[str, Any]
Note = Callable[[Object], None]


class Events:
    """The events of a namespace's pods, by the pod's uid. Safe to use from many threads.

    Args:
        note: told of each event before anyone can read it.
    """

    def __init__(self, api: Api, namespace: str, note: Note = lambda event: None) -> None:
        self._api, self._note = api, note
        self._path = f"/api/v1/namespaces/{namespace}/events"
        self._lock = threading.Lock()
        self._by_pod: OrderedDict[str, dict[str, Object]] = OrderedDict()
        self.feed = Feed(api, self._path, {"fieldSelector": "involvedObject.kind=Pod"}, self)

    def of(self, uid: str) -> list[Object]:
        """A pod's events in the order in which they came; nothing where they may not be read."""
        if self.feed.synced:
            with self._lock:
                return list(self._by_pod.get(uid, {}).values())
        if self.feed.refusal is not None:  # sent away: asking again would not help
            return []
        query = {"fieldSelector": f"involvedObject.uid={uid}"}
        try:
            return list(self._api.ask(Ask("GET", self._path, query), patience_s=5.0)["items"])
        except ApiTrouble as trouble:
            LOG.info("the events of a pod cannot be read: %s", trouble)
            return []

    def listing(self) -> None:
        """A list begins; what was told before stays: the cluster forgets, we need not."""

    def take(self, kind: str, found: Object) -> None:
        """An event, or a later count of one."""
        if kind == "DELETED":
            return
        about, name = found["involvedObject"].get("uid", ""), found["metadata"]["uid"]
        self._note(found)
        with self._lock:
            self._by_pod.setdefault(about, {})[name] = _trimmed(found)
            self._by_pod.move_to_end(about)
            while len(self._by_pod) > PODS_KEPT:
                self._by_pod.popitem(last=False)

    def listed(self, uids: Collection[str]) -> None:
        """A list has ended."""


def _trimmed(event: Object) -> Object:
    kept = ("type", "reason", "message", "count", "firstTimestamp", "lastTimestamp", "eventTime")
    return {k: event[k] for k in kept if event.get(k) is not None}
