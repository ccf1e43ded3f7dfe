"""What happens to our pods: one list and one watch for all of them, every transition kept.

No pod is polled. A watch that falls silent is a dead connection; one that has fallen behind (410)
is listed anew, and what is missing from the list has vanished.
"""

import logging
import random
import threading
from collections.abc import Callable
from typing import Any

from ....models.kube_reading import Transition
from .api import GONE, Api, ApiRefused, ApiTrouble, Ask

LOG = logging.getLogger(__name__)
PAGE = 500
WATCH_S = (240, 300)  # by the server's clock; jittered, so that watches do not end together
READ_SLACK_S = 15.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
Note = Callable[[Transition], None]


class Reflector:
    """The pods of one selector in one namespace, as they change.

    Histories are kept by uid, for pods that someone follows; each state once, in its order.

    Args:
        note: told of every transition before anyone can act on it.
        watch_s: between which seconds a watch lasts, by the server.
        read_s: silence after which a connection is dead; None: a little more than the watch.
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
        self._selector, self._watch_s, self._read_s = selector, watch_s, read_s
        self._changed = threading.Condition()
        self._histories: dict[str, list[Transition]] = {}
        self._versions: dict[str, int] = {}
        self._ours: set[str] = set()
        self._expected: set[str] = set()
        self._version = ""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.relists = 0

    def start(self) -> None:
        """Begin to watch, in a thread of its own; at once where it has begun."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="pods watch")
                self._thread.start()

    def stop(self) -> None:
        """Do not begin another watch; the thread ends with the present one."""
        self._stop.set()

    def expect(self, name: str) -> None:
        """Keep the history of a pod that is about to be made: the watch may know of it, and of
        what becomes of it, before the one who asked for it has its answer."""
        with self._changed:
            self._expected.add(name)

    def follow(self, pod: dict[str, Any]) -> None:
        """Keep the history of a pod that was just made; its object is the first state."""
        self._take("ADDED", pod, follow=True)

    def forget(self, uid: str) -> None:
        """Drop a pod's history."""
        with self._changed:
            history = self._histories.pop(uid, [])
            self._expected -= {step.pod["metadata"]["name"] for step in history}
            self._versions.pop(uid, None)
            self._ours.discard(uid)

    def ours(self, uid: str) -> None:
        """From now on what happens to a pod is our own doing."""
        with self._changed:
            self._ours.add(uid)

    def history(self, uid: str) -> tuple[Transition, ...]:
        """Every state of a followed pod, in order."""
        with self._changed:
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

    def wait(
        self, uid: str, until: Callable[[tuple[Transition, ...]], bool], timeout_s: float
    ) -> bool:
        """Wait until a pod's history satisfies a condition; False at the timeout."""
        with self._changed:
            return self._changed.wait_for(
                lambda: until(tuple(self._histories.get(uid, ()))), timeout_s
            )

    def _run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._stop.is_set():
            try:
                if not self._version:
                    self._list()
                self._watch()
                pause_s = FIRST_PAUSE_S
                continue
            except ApiTrouble as trouble:
                LOG.info("the watch of pods broke and is taken up again: %s", trouble)
                if isinstance(trouble, ApiRefused) and trouble.status == GONE:
                    self._version = ""
            except (ValueError, KeyError, TypeError) as garbled:
                LOG.warning("the watch of pods sent what is no event: %s", garbled)
                self._version = ""
            self._stop.wait(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _list(self) -> None:
        """All pods, page by page; a followed pod that is not among them has vanished."""
        self.relists += 1
        query: dict[str, str | int] = {"labelSelector": self._selector, "limit": PAGE}
        with self._changed:
            known = set(self._histories)
        seen: set[str] = set()
        while True:
            page = self._api.ask(Ask("GET", self._path, query))
            for pod in page["items"]:
                seen.add(pod["metadata"]["uid"])
                self._take("MODIFIED", pod)
            onward = page["metadata"].get("continue")
            if not onward:
                break
            query = query | {"continue": onward}
        for uid in known - seen:
            self._vanish(uid)
        self._version = page["metadata"]["resourceVersion"]

    def _watch(self) -> None:
        lasts_s = random.randint(*self._watch_s)
        query: dict[str, str | int] = {
            "labelSelector": self._selector,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": lasts_s,
        }
        read_s = self._read_s or lasts_s + READ_SLACK_S
        with self._api.stream(Ask("GET", self._path, query), read_s=read_s) as events:
            for event in events:
                self._event(event)
                if self._stop.is_set():
                    return

    def _event(self, event: dict[str, Any]) -> None:
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            raise ApiRefused(int(found.get("code", 0)), found.get("reason", ""), str(found))
        if kind != "BOOKMARK":
            self._take(kind, found)
        self._version = found["metadata"]["resourceVersion"]

    def _take(self, kind: str, pod: dict[str, Any], *, follow: bool = False) -> None:
        """Add a state to its pod's history, unless it is there or older than what is there."""
        uid, version = pod["metadata"]["uid"], int(pod["metadata"]["resourceVersion"])
        with self._changed:
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
            self._add(uid, Transition(kind=kind, pod=pod, ours=uid in self._ours))

    def _vanish(self, uid: str) -> None:
        with self._changed:
            history = self._histories.get(uid)
            if not history or history[-1].kind in ("DELETED", "VANISHED"):
                return
            last = history[-1].pod
            self._add(uid, Transition(kind="VANISHED", pod=last, ours=uid in self._ours))

    def _add(self, uid: str, transition: Transition) -> None:
        self._note(transition)
        self._histories[uid].append(transition)
        self._changed.notify_all()


def gone(history: tuple[Transition, ...]) -> bool:
    """The pod's object is no more."""
    return bool(history) and history[-1].kind in ("DELETED", "VANISHED")
