"""One ConfigMap for each run, which owns the run's pods: deleting it deletes them all.

It is made by whoever needs it first. `infranoise run` deletes it when all is done; of a fleet's
runs `infranoise sweep` deletes those that are a day old and have no pods.
"""

import hashlib
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ....models.kube_reading import unix
from .api import Api, ApiRefused, ApiTrouble, Ask
from .seats import LABEL, MANAGED_BY
from .words import label

CONFLICT, NOT_FOUND = 409, 404
STALE_S = 24 * 3600.0
LOOK_AGAIN_S = 60.0  # an owner that went takes with it what is made under it
Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """A run's ConfigMap. `seen_s`: when it was last known to be there, on the monotonic clock."""

    name: str
    uid: str
    seen_s: float

    @property
    def reference(self) -> Object:
        """What its pods bear. No blocking: that would take a right on finalizers."""
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid}


class Runs:
    """The ConfigMaps of runs in one namespace. Safe to use from many threads."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._lock = threading.Lock()
        self._owners: dict[str, Owner] = {}

    def owner(self, experiment: str) -> Owner:
        """The run's ConfigMap, made unless it is there.

        Raises:
            ApiTrouble: it can be neither read nor made.
        """
        with self._lock:
            known = self._owners.get(experiment)
            if known is None or time.monotonic() - known.seen_s > LOOK_AGAIN_S:
                known = self._owners[experiment] = self._look(experiment)
            return known

    def forget(self, experiment: str) -> None:
        """Look again before the next pod."""
        with self._lock:
            self._owners.pop(experiment, None)

    def remove(self, experiment: str) -> bool:
        """Delete a run's ConfigMap, and with it what it still owns; False if there was none.

        Raises:
            ApiTrouble
        """
        self.forget(experiment)
        try:
            self._api.ask(Ask("DELETE", f"{self._path}/{run_name(experiment)}", body={}))
        except ApiRefused as refusal:
            if refusal.status != NOT_FOUND:
                raise
            return False
        return True

    def remove_stale(self, busy: Collection[str], now: float) -> None:
        """Delete ConfigMaps of runs that have no pods any more, a day after they were made.

        Args:
            busy: labels of runs that have pods.
            now: Unix seconds.
        Raises:
            ApiTrouble
        """
        found = self._api.ask(Ask("GET", self._path, {"labelSelector": f"{MANAGED_BY}=infranoise"}))
        for one in found["items"]:
            made = unix(one["metadata"].get("creationTimestamp")) or now
            idle = one["metadata"]["labels"].get(f"{LABEL}run") not in busy
            if idle and made < now - STALE_S and "experiment" in (one.get("data") or {}):
                self.remove(one["data"]["experiment"])

    def _look(self, experiment: str) -> Owner:
        try:
            return _owner(self._ask_for(experiment))
        except ApiRefused as refusal:
            if refusal.status != NOT_FOUND:
                raise
        try:
            return _owner(self._api.ask(Ask("POST", self._path, body=config_map(experiment))))
        except ApiRefused as refusal:
            if refusal.status != CONFLICT:  # another worker was first
                raise
        return _owner(self._ask_for(experiment))

    def _ask_for(self, experiment: str) -> Object:
        return self._api.ask(Ask("GET", f"{self._path}/{run_name(experiment)}"))


def run_name(experiment: str) -> str:
    """The name of a run's ConfigMap."""
    return f"infranoise-run-{hashlib.sha256(experiment.encode()).hexdigest()[:20]}"


def config_map(experiment: str) -> Object:
    """A run's ConfigMap: it says what it is, and holds nothing else."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": run_name(experiment),
            "labels": {MANAGED_BY: "infranoise", f"{LABEL}run": label(experiment)},
        },
        "data": {"experiment": experiment},
        "immutable": True,
    }


def _owner(found: Object) -> Owner:
    return Owner(found["metadata"]["name"], found["metadata"]["uid"], time.monotonic())


def may_not(trouble: ApiTrouble) -> bool:
    """Whether we lack the right: pods then have no owner, and live by their expiry alone."""
    return isinstance(trouble, ApiRefused) and trouble.status == 403
