"""A run's folder: where its ledger, artefacts and report lie; one run works in it at a time."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from ..models.errors import DesignError

RUNS = Path("infranoise-runs")
LEDGER = "ledger.sqlite"


def run_folder(out: Path | None, experiment: str, *, fresh: bool) -> Path:
    """The folder of a run, made if missing; with `fresh` an old one is renamed and kept."""
    folder = out or RUNS / experiment
    if fresh and folder.exists():
        folder.rename(folder.with_name(f"{folder.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DesignError(
            f"--out {folder}: cannot be made: {error.strerror}; name another folder"
        ) from error
    return folder


def remove_ledger(path: Path) -> None:
    """Remove a SQLite ledger that nothing went into, and its folder if nothing else is there."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with suppress(OSError):  # not empty: somebody else's
        path.parent.rmdir()


def cannot_write(path: Path, error: OSError) -> DesignError:
    """What to say where a file or folder that was asked for cannot be written."""
    return DesignError(f"{path}: cannot be written: {error.strerror or error}; name another place")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process.

    Raises:
        DesignError: another run works in it, or it cannot be written.
    """
    with _lock_file(folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise DesignError(
                f"{folder}: another run works in this folder; wait for it, or use another --out"
            ) from error
        yield


def _lock_file(folder: Path) -> TextIO:
    try:
        return (folder / "run.lock").open("w")
    except OSError as error:
        raise DesignError(
            f"{folder}: cannot be written: {error.strerror}; name another folder with --out"
        ) from error
