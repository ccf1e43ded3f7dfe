"""What happens to our pods: one list and one watch for all of them, every transition kept.

No pod is polled. What is missing from a new list has vanished.
"""

import threading
import time
from collections.abc import Callable, Collection
from typing import Any

from ....models.kube_reading import Transition
from .api import Api, ApiRefused, Ask
from .feed import WATCH_S, Feed

Note = Callable[[Transition], None]
Until = Callable[[tuple[Transition, ...]], bool]


class _Waiting:
    """Someone who waits for a pod. Asked in the watch's own thread: to wake a thread for each state
    of its pod, and for those of others', is most of what a thousand pods would cost."""

    def __init__(self, until: Until) -> None:
        self._until, self.heard = until, threading.Event()

    def met(self, history: tuple[Transition, ...]) -> bool:
        """Whether it is time to wake up; what cannot be asked here is asked there."""
        try:
            return self._until(history)
        except Exception:
            return True


class Reflector:
    """The pods of one selector in one namespace, as they change.

    Histories are kept by uid, for pods that someone follows; each state once, in its order.

    Args:
        note: told of every transition before anyone can act on it.
        watch_s, read_s: as of a `Feed`.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        selector: str,
        note: Note = lambda transition: None,
        *,
        watch_s: tuple[int, int] = WATCH_S,
        read_s: float | None = None,
    ) -> None:
        self._api, self._note = api, note
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._lock = threading.RLock()
        self._waiting: dict[str, list[_Waiting]] = {}
        self._histories: dict[str, list[Transition]] = {}
        self._versions: dict[str, int] = {}
        self._ours: set[str] = set()
        self._expected: set[str] = set()
        self._before_list: set[str] = set()
        query = {"labelSelector": selector}
        self.feed = Feed(api, self._path, query, self, watch_s=watch_s, read_s=read_s, needed=True)

    def start(self) -> None:
        """Begin to watch, in a thread of its own; at once where it has begun."""
        self.feed.start()

    def stop(self) -> None:
        """Do not begin another watch; the thread ends with the present one."""
        self.feed.stop()

    def listing(self) -> None:
        """A list begins: only pods that were made before can be missing from it."""
        with self._lock:
            self._before_list = set(self._histories)

    def take(self, kind: str, found: dict[str, Any]) -> None:
        """A pod as it is now."""
        self._take(kind, found)

    def listed(self, uids: Collection[str]) -> None:
        """A followed pod that is in no list has vanished."""
        for uid in self._before_list.difference(uids):
            self._vanish(uid)

    def on_node(self, node: str) -> int:
        """How many followed pods are on a node and have not ended."""
        with self._lock:
            return sum(
                history[-1].pod["spec"].get("nodeName") == node
                for history in self._histories.values()
                if history and not _over(history[-1])
            )

    def expect(self, name: str) -> None:
        """Keep the history of a pod that is about to be made: the watch may know of it, and of
        what becomes of it, before the one who asked for it has its answer."""
        with self._lock:
            self._expected.add(name)

    def expect_no_more(self, name: str) -> None:
        """That pod was never made."""
        with self._lock:
            self._expected.discard(name)

    def follow(self, pod: dict[str, Any]) -> None:
        """Keep the history of a pod that was just made; its object is the first state."""
        self._take("ADDED", pod, follow=True)

    def forget(self, uid: str) -> None:
        """Drop a pod's history."""
        with self._lock:
            history = self._histories.pop(uid, [])
            for one in self._waiting.get(uid, ()):
                one.heard.set()
            self._expected -= {step.pod["metadata"]["name"] for step in history}
            self._versions.pop(uid, None)
            self._ours.discard(uid)

    def ours(self, uid: str) -> None:
        """From now on what happens to a pod is our own doing."""
        with self._lock:
            self._ours.add(uid)

    def history(self, uid: str) -> tuple[Transition, ...]:
        """Every state of a followed pod, in order."""
        with self._lock:
            return tuple(self._histories.get(uid, ()))

    def look(self, uid: str) -> None:
        """Ask for one pod's present state, where waiting for the watch would cost certainty.

        Raises:
            ApiTrouble: but for its absence, which is a state.
        """
        history = self.history(uid)
        if not history:
            return
        name = history[-1].pod["metadata"]["name"]
        try:
            found = self._api.ask(Ask("GET", f"{self._path}/{name}"))
        except ApiRefused as refusal:
            if refusal.status != 404:
                raise
            self._vanish(uid)
            return
        if found["metadata"]["uid"] == uid:
            self._take("MODIFIED", found)
        else:
            self._vanish(uid)

    def wait(self, uid: str, until: Until, timeout_s: float) -> bool:
        """Wait until a pod's history satisfies a condition; False at the timeout."""
        ends, mine = time.monotonic() + timeout_s, _Waiting(until)
        with self._lock:
            if until(self.history(uid)):
                return True
            self._waiting.setdefault(uid, []).append(mine)
        try:
            while mine.heard.wait(max(0.0, ends - time.monotonic())):
                mine.heard.clear()
                if until(self.history(uid)):
                    return True
            return until(self.history(uid))
        finally:
            with self._lock:
                self._waiting[uid].remove(mine)
                if not self._waiting[uid]:
                    del self._waiting[uid]

    def _take(self, kind: str, pod: dict[str, Any], *, follow: bool = False) -> None:
        """Add a state to its pod's history, unless it is there or older than what is there."""
        uid, version = pod["metadata"]["uid"], int(pod["metadata"]["resourceVersion"])
        with self._lock:
            if follow or pod["metadata"]["name"] in self._expected:
                self._histories.setdefault(uid, [])
            if uid not in self._histories or version < self._versions.get(uid, 0):
                return
            same = version == self._versions.get(uid)
            if same and kind != "DELETED":
                return
            if self._histories[uid] and self._histories[uid][-1].kind in ("DELETED", "VANISHED"):
                return
            self._versions[uid] = version
            kept = _sharing(pod, self._histories[uid])
            self._add(uid, Transition(kind=kind, pod=kept, ours=uid in self._ours))

    def _vanish(self, uid: str) -> None:
        with self._lock:
            history = self._histories.get(uid)
            if not history or history[-1].kind in ("DELETED", "VANISHED"):
                return
            last = history[-1].pod
            self._add(uid, Transition(kind="VANISHED", pod=last, ours=uid in self._ours))

    def _add(self, uid: str, transition: Transition) -> None:
        self._note(transition)
        self._histories[uid].append(transition)
        if uid in self._waiting:
            now = tuple(self._histories[uid])
            for one in self._waiting[uid]:
                if one.met(now):
                    one.heard.set()


def _sharing(pod: dict[str, Any], history: list[Transition]) -> dict[str, Any]:
    """A state without who wrote which field, and with one spec for all states of a pod."""
    metadata = {name: said for name, said in pod["metadata"].items() if name != "managedFields"}
    spec = pod.get("spec") or {}
    if history and history[-1].pod.get("spec") == spec:
        spec = history[-1].pod["spec"]
    return pod | {"metadata": metadata, "spec": spec}


def _over(step: Transition) -> bool:
    ended = (step.pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return ended or step.kind in ("DELETED", "VANISHED")


def gone(history: tuple[Transition, ...]) -> bool:
    """The pod's object is no more."""
    return bool(history) and history[-1].kind in ("DELETED", "VANISHED")
