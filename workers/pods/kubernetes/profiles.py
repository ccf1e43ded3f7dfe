"""What each node is, found out once a boot: from the API, its kubelet, and a pod on it."""

import threading
from collections.abc import Callable

from ....models.kube_node import boot, profile
from ....models.node import NodeProfile
from .api import Api, ApiTrouble, Ask
from .limits import files
from .nodes import PATH, Nodes, Object


class Profiles:
    """The profiles of a cluster's nodes. Safe to use from many threads."""

    def __init__(self, api: Api, nodes: Nodes) -> None:
        self._api, self._nodes = api, nodes
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], NodeProfile] = {}

    def of(self, node: str, read: Callable[[], str]) -> NodeProfile:
        """What a node is; where its object may not be read, what a pod on it sees.

        Args:
            read: runs `scripts.NODE_FILES` in a pod on it and returns what that printed.
        """
        found = (self._nodes.object(node) if node else None) or {}
        key = node, boot(found)
        with self._lock:
            if key in self._known:
                return self._known[key]
        made = profile(found, self._settings(node) if found else None, _inside(read))
        with self._lock:
            return self._known.setdefault(key, made)

    def _settings(self, node: str) -> Object | None:
        """The kubelet's configuration; None where it may not be read, which is usual."""
        path = f"{PATH}/{node}/proxy/configz"
        try:
            told = self._api.ask(Ask("GET", path), patience_s=0.0)
        except ApiTrouble:
            return None
        found = told.get("kubeletconfig")
        return found if isinstance(found, dict) else None


def _inside(read: Callable[[], str]) -> dict[str, str]:
    try:
        return files(read())
    except ApiTrouble:
        return {}
