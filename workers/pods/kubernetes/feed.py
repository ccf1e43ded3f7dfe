"""One list and one watch of one kind of object: what there is, and every change, without end.

A watch that falls silent is a dead connection; one that has fallen behind (410) is listed anew, and
what is missing from the list has gone. What may not be watched is given up, in words, unless
nothing goes without it.
"""

import logging
import random
import threading
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from .api import GONE, Api, ApiRefused, ApiTrouble, Ask

LOG = logging.getLogger(__name__)
PAGE = 500
WATCH_S = (240, 300)  # by the server's clock; jittered, so that watches do not end together
READ_SLACK_S = 15.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
FORBIDDEN = 403
TOO_OLD = ("Expired", "Gone")
RESUMES = 3  # times in a row that a watch is taken up where it broke, before all is listed anew
Object = dict[str, Any]


class Taker(Protocol):
    """Who is told, from the feed's thread."""

    def listing(self) -> None:
        """A list begins."""
        ...

    def take(self, kind: str, found: Object) -> None:
        """One object as it is now: ADDED, MODIFIED or DELETED; what a list holds is MODIFIED."""
        ...

    def listed(self, uids: Collection[str]) -> None:
        """A list has been told to its end; nothing else was there when it began."""
        ...


class Feed:
    """A list and a watch in a thread of its own.

    Args:
        query: selectors, in the API's own words.
        watch_s: between which seconds a watch lasts, by the server.
        read_s: silence after which a connection is dead; None: a little more than the watch.
        needed: being sent away is no reason to stop asking.
    """

    def __init__(
        self,
        api: Api,
        path: str,
        query: Mapping[str, str | int],
        taker: Taker,
        *,
        watch_s: tuple[int, int] = WATCH_S,
        read_s: float | None = None,
        needed: bool = False,
    ) -> None:
        self._needed = needed
        self._api, self._path, self._query, self._taker = api, path, dict(query), taker
        self._watch_s, self._read_s = watch_s, read_s
        self._version = ""
        self._lock = threading.Lock()
        self._stop, self._known = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.refusal: ApiRefused | None = None
        self.lists = 0

    @property
    def synced(self) -> bool:
        """What there is has been told, and we were not sent away since."""
        return self._known.is_set() and self.refusal is None

    def start(self) -> None:
        """Begin; at once where it has begun."""
        with self._lock:
            if self._thread is None:
                name = f"watch {self._path.rpartition('/')[2]}"
                self._thread = threading.Thread(target=self._run, daemon=True, name=name)
                self._thread.start()

    def stop(self) -> None:
        """Do not begin another watch; the thread ends with the present one."""
        self._stop.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait until what there is has been told, or will never be; whether it has."""
        self._known.wait(timeout_s)
        return self.synced

    def _run(self) -> None:
        pause_s, broken = FIRST_PAUSE_S, 0
        while not self._stop.is_set():
            try:
                if not self._version or broken > RESUMES:
                    self._list()
                self._watch()
                pause_s, broken = FIRST_PAUSE_S, 0
                continue
            except ApiRefused as refusal:
                if refusal.status == FORBIDDEN:
                    self._sent_away(refusal)
                    if not self._needed:
                        return
                if refusal.status == GONE or refusal.reason in TOO_OLD:
                    self._version = ""
                LOG.info("%s: the watch broke and is taken up again: %s", self._path, refusal)
            except ApiTrouble as trouble:
                LOG.info("%s: the watch broke and is taken up again: %s", self._path, trouble)
            except (ValueError, KeyError, TypeError) as garbled:
                LOG.warning("%s: the watch sent what is no event: %s", self._path, garbled)
                self._version = ""
            broken += 1
            self._stop.wait(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _sent_away(self, refusal: ApiRefused) -> None:
        if self.refusal is None:
            LOG.warning("%s is not watched: %s", self._path, refusal)
        self.refusal = refusal
        self._known.set()

    def _list(self) -> None:
        """Everything, page by page."""
        self.lists += 1
        self._taker.listing()
        query = self._query | {"limit": PAGE}
        seen: set[str] = set()
        while True:
            page = self._api.ask(Ask("GET", self._path, query))
            for found in page["items"]:
                seen.add(found["metadata"]["uid"])
                self._taker.take("MODIFIED", found)
            onward = page["metadata"].get("continue")
            if not onward:
                break
            query = query | {"continue": onward}
        self._taker.listed(seen)
        self._version = page["metadata"]["resourceVersion"]
        self._known.set()

    def _watch(self) -> None:
        lasts_s = random.randint(*self._watch_s)
        query = self._query | {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": lasts_s,
        }
        read_s = self._read_s or lasts_s + READ_SLACK_S
        with self._api.stream(Ask("GET", self._path, query), read_s=read_s) as events:
            self.refusal = None
            for event in events:
                self._event(event)
                if self._stop.is_set():
                    return

    def _event(self, event: Object) -> None:
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            raise ApiRefused(int(found.get("code", 0)), found.get("reason", ""), str(found))
        if kind != "BOOKMARK":
            self._taker.take(kind, found)
        self._version = found["metadata"]["resourceVersion"]
