"""A worker's diary of a cluster: every transition and every intent, before anyone acts on them.

JSON lines in a file of this worker's own, which begins with the worker's name. An intent is on the
disk before the pod it is about is deleted, so that our own kills are never taken for the
infrastructure's; what a worker that died meant to delete is read back by the next one.
"""

import fcntl
import json
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....models.kube_evidence import Intent, NodeSeen
from ....models.kube_reading import Transition
from .. import owner

GONE = ("DELETED", "VANISHED")
KEPT_S = 7 * 24 * 3600.0  # of a worker that is no more
Object = dict[str, Any]


class Diary:
    """An append-only file. Safe to use from many threads.

    Args:
        folder: where diaries lie; made when first written. None: nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._path = None if folder is None else folder / f"{os.getpid()}-{time.time_ns()}.jsonl"
        self._lock = threading.Lock()
        self._file: int | None = None
        self._let_go: Callable[[], object] | None = None

    def transition(self, transition: Transition) -> None:
        """Note a state that a pod has come to; of its last one the whole object."""
        metadata = transition.pod.get("metadata") or {}
        whole = {"object": transition.pod} if transition.kind in GONE else {}
        self._write(
            {
                "what": transition.kind,
                "uid": metadata.get("uid"),
                "name": metadata.get("name"),
                "resource_version": metadata.get("resourceVersion"),
                "deletion": metadata.get("deletionTimestamp"),
                "ours": transition.ours,
                "status": transition.pod.get("status"),
            }
            | whole
        )

    def node(self, seen: NodeSeen) -> None:
        """Note a state that a node has come to."""
        self._write({"what": "NODE"} | seen.model_dump(mode="json"))

    def event(self, event: Object) -> None:
        """Note what the cluster noted of a pod."""
        about = event.get("involvedObject") or {}
        told = {name: event.get(name) for name in ("type", "reason", "message", "count")}
        self._write({"what": "EVENT", "uid": about.get("uid"), "name": about.get("name")} | told)

    def intent(self, intent: Intent, uid: str, name: str) -> None:
        """Note that we are about to delete a pod; on the disk when this returns."""
        self._write({"what": "INTENT", "intent": intent, "uid": uid, "name": name}, sync=True)

    def swept(self, pod: Mapping[str, Any]) -> None:
        """Keep the object of a pod whose worker is no more, before it is deleted."""
        metadata = pod["metadata"]
        row = {"what": "SWEPT", "uid": metadata["uid"], "name": metadata["name"], "object": pod}
        self._write(row, sync=True)

    def unfinished(self) -> dict[str, str]:
        """Pods, by uid, that a worker meant to delete when it died; their names."""
        found: dict[str, str] = {}
        for path in self._of_the_dead():
            for row in _rows(path):
                if row.get("what") == "INTENT":
                    found[row["uid"]] = row["name"]
                elif row.get("what") in GONE:
                    found.pop(row["uid"], None)
        return found

    def dead_workers(self) -> frozenset[str]:
        """Workers that wrote a diary here and are no more, by name."""
        firsts = (next(_rows(path), {}) for path in self._of_the_dead())
        return frozenset(row["owner"] for row in firsts if "owner" in row)

    def tidy(self) -> None:
        """Remove diaries of workers that are long gone."""
        for path in self._of_the_dead():
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - KEPT_S:
                    path.unlink()

    def close(self) -> None:
        """Let the file go; from now on it is another's to read back."""
        with self._lock:
            self._path = None
            if self._let_go is not None:
                self._let_go()

    def _of_the_dead(self) -> Iterator[Path]:
        """Diaries that nobody holds: whoever writes one holds it for as long as it lives."""
        for path in sorted(self._folder.glob("*.jsonl")) if self._folder else ():
            if path != self._path and not _held(path):
                yield path

    def _write(self, row: Object, *, sync: bool = False) -> None:
        with self._lock:
            if self._path is None:
                return
            rows = [row]
            if self._file is None:
                rows.insert(0, {"what": "WORKER", "owner": owner.owner()})
                self._file = _held_file(self._path)
                self._let_go = weakref.finalize(self, os.close, self._file)
            at = {"at": time.time()}
            told = (json.dumps(at | one, separators=(",", ":")) + "\n" for one in rows)
            os.write(self._file, "".join(told).encode())
            if sync:
                os.fsync(self._file)


def _held_file(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    made = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    fcntl.flock(made, fcntl.LOCK_EX)
    return made


def _held(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # it went meanwhile, or is not ours to read
        return True
    return False


def _rows(path: Path) -> Iterator[Object]:
    """The rows of a diary; the last may be broken off, as its worker was."""
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                with suppress(ValueError):
                    yield json.loads(line)
    except OSError:
        return
