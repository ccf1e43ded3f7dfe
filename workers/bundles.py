"""Tasks on a node of a fleet: fetched by content, unpacked once, checked, and kept."""

import shutil
import tempfile
import threading
from collections import defaultdict
from pathlib import Path

from ..models.blobs.bundle import unpack
from ..models.blobs.place import Blobs, bundle_name
from ..models.errors import BlobError, StartFailed
from ..models.folder_hash import NotHashable, folder_hash
from ..models.task import Task


class Bundles:
    """The tasks that this node has. Safe from many threads and several workers.

    Args:
        folder: where they are kept; made when first needed.
        place: where this node finds blobs, instead of where a message says.
    """

    def __init__(self, folder: Path, place: str = "") -> None:
        self._folder, self._place = folder, place
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)
        self._checked: set[str] = set()

    def place(self, blobs: str) -> Blobs | None:
        """Where blobs lie for this node; None where they lie nowhere: all is on one machine."""
        return Blobs(self._place or blobs) if blobs else None

    def at_hand(self, task: Task, blobs: str) -> Task:
        """The task with its folder on this machine, fetched if it is not here yet.

        Args:
            blobs: what the message says of where it lies; "": `task.directory` is on this machine.
        Raises:
            StartFailed: it cannot be had, or is not what it says it is.
        """
        place = self.place(blobs)
        if place is None:
            return task
        with self._lock:
            lock = self._locks[task.content_hash]
        with lock:
            try:
                return task.model_copy(update={"directory": self._kept(place, task.content_hash)})
            except (BlobError, OSError) as error:
                raise StartFailed(f"task {task.name}: {error}", blobs=place.url) from error

    def _kept(self, place: Blobs, content_hash: str) -> Path:
        target = self._folder / content_hash
        if content_hash in self._checked and target.is_dir():
            return target
        if target.is_dir() and not _is(target, content_hash):
            shutil.rmtree(target)
        if not target.is_dir():
            self._fetch(place, content_hash, target)
        self._checked.add(content_hash)
        return target

    def _fetch(self, place: Blobs, content_hash: str, target: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".fetch-") as aside:
            bundle, folder = Path(aside, "bundle.tar.gz"), Path(aside, "task")
            place.get(bundle_name(content_hash), bundle)
            folder.mkdir(mode=0o755)
            unpack(bundle, content_hash, folder)
            try:
                folder.rename(target)
            except OSError:
                if not target.is_dir():  # else another worker of this machine was first
                    raise


def _is(folder: Path, content_hash: str) -> bool:
    try:
        return folder_hash(folder) == content_hash
    except (NotHashable, OSError):
        return False
