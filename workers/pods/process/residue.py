"""What a pod would leave behind if its worker died, written down while it lives."""

import contextlib
import json
import os
import signal
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from .. import owner
from ..killing import kill_all, remove_folder
from . import private_tree
from .watchdog import Watchdog

NOTE = "pod.json"
UNNOTED_S = 3600.0  # nobody takes that long between making a folder and noting it


@dataclass(frozen=True, slots=True)
class Residue:
    """One pod's traces on this machine. `owner` is its worker and `first` its PID 1, both as
    `owner.owner` names a process for ever; `first` is "" where it has none."""

    attempt_id: str
    expires_at: float
    owner: str
    cgroups: tuple[str, ...] = ()
    first: str = ""


def write(folder: Path, residue: Residue) -> None:
    """Note a pod in its state folder, all or nothing."""
    fresh = folder / f"{NOTE}.new"
    fresh.write_text(json.dumps(asdict(residue)))
    fresh.rename(folder / NOTE)


def read_all(state: Path) -> Iterator[tuple[Path, Residue]]:
    """Every pod noted below a state folder; what cannot be read is being made or removed."""
    for folder in sorted(state.iterdir()) if state.is_dir() else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            noted = json.loads((folder / NOTE).read_text())
            yield folder, Residue(**{**noted, "cgroups": tuple(noted["cgroups"])})


def is_abandoned(residue: Residue, *, now: float, alive: Collection[str]) -> bool:
    """Whether a pod has outlived its expiry or its worker, and nobody vouches for it."""
    if residue.attempt_id in alive:
        return False
    return now >= residue.expires_at or owner.dead(residue.owner, one_machine=True)


def sweep(state: Path, *, now: float) -> None:
    """Remove folders that nobody has noted: their makers died while they made them."""
    for folder in state.iterdir() if state.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            if not (folder / NOTE).exists() and now - folder.stat().st_mtime > UNNOTED_S:
                private_tree.remove(folder)


def clear(folder: Path, residue: Residue) -> None:
    """Kill and remove everything that a pod left."""
    if residue.first and not owner.dead(residue.first, one_machine=True):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(residue.first.split(":")[2]), signal.SIGKILL)
    Watchdog(folder.name).kill()
    for cgroup in map(Path, residue.cgroups):
        kill_all(partial(_members, cgroup), lambda frozen: None)
        remove_folder(cgroup)
    private_tree.remove(folder)


def _members(cgroup: Path) -> tuple[int, ...]:
    try:
        return tuple(map(int, (cgroup / "cgroup.procs").read_text().split()))
    except OSError:
        return ()
