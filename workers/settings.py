"""What a worker is told by its environment, read once, at the door."""

import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import DesignError
from ..models.size import mebibytes
from ..models.spec import MIB


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """A worker's settings.

    `slots` is how many attempts it may run at once; home never sends more. `state` holds private
    folders of pods and records of what to reap.
    """

    broker: str
    node: str
    slots: int
    state: Path
    artefacts: Path | None
    build_network: str | None
    tethered: bool
    cpus: float | None = None
    memory_bytes: int | None = None


def worker_settings(environ: Mapping[str, str]) -> WorkerSettings:
    """Settings from `INFRANOISE_*` variables.

    Raises:
        DesignError: a variable that should hold an amount does not.
    """
    slots = environ.get("INFRANOISE_SLOTS", str(os.cpu_count() or 1))
    if not slots.isdecimal() or int(slots) < 1:
        raise DesignError(f"INFRANOISE_SLOTS={slots!r}: give a whole number of at least 1")
    artefacts = environ.get("INFRANOISE_ARTEFACTS")
    return WorkerSettings(
        broker=environ.get("INFRANOISE_BROKER_URL", "redis://127.0.0.1:6379/0"),
        node=environ.get("INFRANOISE_NODE") or platform.node() or "node",
        slots=int(slots),
        state=Path(environ.get("INFRANOISE_STATE") or default_state(environ)),
        artefacts=Path(artefacts) if artefacts else None,
        build_network=environ.get("INFRANOISE_BUILD_NETWORK") or None,
        tethered=environ.get("INFRANOISE_TETHERED") == "1",
        cpus=_amount(environ, "INFRANOISE_CPUS", float),
        memory_bytes=_amount(environ, "INFRANOISE_MEMORY", _bytes),
    )


def _bytes(text: str) -> int:
    return round(mebibytes(text) * MIB)


def _amount[T](environ: Mapping[str, str], name: str, read: Callable[[str], T]) -> T | None:
    text = environ.get(name)
    if not text:
        return None
    try:
        return read(text)
    except ValueError as error:
        raise DesignError(f"{name}={text!r}: {error}") from error


def default_state(environ: Mapping[str, str]) -> Path:
    """Where pods' private folders lie unless told otherwise: a real disk, not a tmpfs."""
    base = environ.get("XDG_STATE_HOME")
    if base:
        return Path(base) / "infranoise"
    if os.getuid() == 0:
        return Path("/var/lib/infranoise")
    home = environ.get("HOME")
    return (Path(home) / ".local/state" if home else Path(tempfile.gettempdir())) / "infranoise"
