"""Recorded scenarios of a real cluster, and a kubelet's double that plays them back."""

import json
import threading
import time
from pathlib import Path
from typing import Any

from kube_store import Change, Object, Store

GOLDEN = Path(__file__).parents[1] / "golden" / "kubernetes"


def recorded(scenario: str) -> Object:
    """One recording; the README beside it says what its keys hold."""
    return json.loads((GOLDEN / f"{scenario}.json").read_text())  # type: ignore[no-any-return]


def full(compact: Object, step: Object, like: Object) -> Object:
    """A pod object from one compact status of a recording."""
    conditions = [
        {"type": kind, "status": status, "reason": reason, "message": message}
        for kind, status, reason, message in compact.get("conditions", ())
    ]
    containers = [
        {"name": "main", "image": "", "imageID": "", "ready": False, **container}
        | {"lastState": container["lastState"] or {}}
        for container in compact.get("containers", ())
    ]
    status = compact | {"conditions": conditions, "containerStatuses": containers}
    metadata = {k: v for k, v in like["metadata"].items() if k != "deletionTimestamp"}
    if step["deletionTimestamp"]:
        metadata["deletionTimestamp"] = step["deletionTimestamp"]
        metadata["deletionGracePeriodSeconds"] = 5
    return {"metadata": metadata, "spec": like["spec"], "status": status}


def last_object(record: Object) -> Object:
    """The last object of a recording, in full."""
    found = record["pod"] if "spec" in record["pod"] else record["last_watch_event"]["object"]
    return dict(found)


class ReplayKubelet:
    """Plays one scenario's watch on every pod that is made.

    Args:
        scale: seconds here for a second of the recording.
        lives_on: play it until its container runs, and no further.
    """

    def __init__(
        self, store: Store, scenario: str, scale: float, *, lives_on: bool = False
    ) -> None:
        self._store, self._scale = store, scale
        self._record = recorded(scenario)
        self._steps = len(self._record["watch"])
        if lives_on:
            self._steps = next(
                number
                for number, step in enumerate(self._record["watch"], 1)
                if any("running" in one["state"] for one in step["status"].get("containers", ()))
            )
        self._due: list[tuple[float, int, Object]] = []
        self._some = threading.Condition()
        store.heard.append(self._hear)
        threading.Thread(target=self._play, daemon=True, name="replay").start()

    def _hear(self, change: Change) -> None:
        if change.resource == "pods" and change.type == "ADDED":
            with self._some:
                self._due.append((time.monotonic(), 0, change.object))
                self._some.notify()

    def _play(self) -> None:
        while True:
            with self._some:
                self._some.wait_for(lambda: bool(self._due))
                self._due.sort(key=lambda one: one[0])
                at, step, pod = self._due[0]
                if (wait_s := at - time.monotonic()) > 0:
                    self._some.wait(wait_s)
                    continue
                self._due.pop(0)
            self._do(step, pod)
            steps = self._record["watch"]
            if step + 1 < self._steps:
                later_s = (steps[step + 1]["dt"] - steps[step]["dt"]) * self._scale
                with self._some:
                    self._due.append((at + later_s, step + 1, pod))

    def _do(self, number: int, pod: Object) -> None:
        step, last = self._record["watch"][number], last_object(self._record)
        final = number + 1 == len(self._record["watch"])
        played = full(step["status"], step, last)
        status = last["status"] if final else played["status"]
        self._store.play(step["type"], pod, played["metadata"] | {}, status)


def buries(store: Store) -> None:
    """Let pods that are told to go be gone a moment later, as a kubelet does."""

    def bury(change: Change) -> None:
        metadata = change.object["metadata"]
        if change.resource == "pods" and metadata.get("deletionGracePeriodSeconds", 0) > 0:
            late = threading.Timer(0.05, gone, (metadata["namespace"], metadata["name"]))
            late.daemon = True
            late.start()

    def gone(namespace: str, name: str) -> None:
        with store.lock:
            if ("pods", namespace, name) in store.objects:
                store.delete("pods", namespace, name, grace_s=0)

    store.heard.append(bury)


def scenarios() -> list[str]:
    """Every recording that is one pod's story."""
    found = (path.stem for path in sorted(GOLDEN.glob("*.json")))
    return [name for name in found if isinstance(_read(name), dict) and "watch" in _read(name)]


def _read(name: str) -> Any:
    return json.loads((GOLDEN / f"{name}.json").read_text())
