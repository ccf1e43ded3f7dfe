"""A worker's diary of a cluster: every transition and every intent, before anyone acts on them.

JSON lines in a file of this worker's own. An intent is on the disk before the pod it is about is
deleted, so that our own kills are never taken for the infrastructure's.
"""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from ....models.kube_evidence import Intent
from ....models.kube_reading import Transition


class Diary:
    """An append-only file. Safe to use from many threads.

    Args:
        folder: where diaries lie; made when first written. None: nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / f"{os.getpid()}-{time.time_ns()}.jsonl"
        self._lock = threading.Lock()

    def transition(self, transition: Transition) -> None:
        """Note a state that a pod has come to."""
        metadata = transition.pod.get("metadata") or {}
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
        )

    def intent(self, intent: Intent, uid: str, name: str) -> None:
        """Note that we are about to delete a pod; on the disk when this returns."""
        self._write({"what": "INTENT", "intent": intent, "uid": uid, "name": name}, sync=True)

    def _write(self, row: dict[str, Any], *, sync: bool = False) -> None:
        if self._path is None:
            return
        line = json.dumps({"at": time.time()} | row, separators=(",", ":")) + "\n"
        with self._lock:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
                if sync:
                    file.flush()
                    os.fsync(file.fileno())
