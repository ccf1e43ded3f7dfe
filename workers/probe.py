"""How fast this node is: a short piece of fixed work on CPU, memory and disk."""

import hashlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from ..models.probe import Probe, Spread

MEGA = 1_000_000
HASHES, CPU_REPEATS = 20_000, 5
COPY_BYTES, MEMORY_REPEATS = 64 << 20, 3
WRITE_BYTES, DISK_REPEATS = 8 << 20, 3
SALT = b"infranoise"


def probe(disk: Path, *, co_running: int = 0) -> Probe:
    """Do the work; half a second or so on a machine of today.

    Args:
        disk: a folder on the disk that pods write to; what is written there is removed.
        co_running: attempts that run on this node now, to be told with the result.
    """
    at, since = time.time(), time.monotonic()
    return Probe(
        at=at,
        cpu_ops_s=_spread(HASHES, CPU_REPEATS, _hash),
        memory_mb_s=_memory(),
        disk_mb_s=_disk(disk),
        took_s=time.monotonic() - since,
        co_running=co_running,
    )


def _hash() -> None:
    hashlib.pbkdf2_hmac("sha256", SALT, SALT, HASHES)


def _memory() -> Spread:
    source, target = bytearray(COPY_BYTES), bytearray(COPY_BYTES)

    def copy() -> None:
        target[:] = source

    copy()  # the first touch of every page is the kernel's work, not the memory's
    return _spread(COPY_BYTES / MEGA, MEMORY_REPEATS, copy)


def _disk(folder: Path) -> Spread | None:
    block = os.urandom(WRITE_BYTES)  # what a disk or file system might compress is no work for it
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:

            def write() -> None:
                file.seek(0)
                file.write(block)
                os.fdatasync(file.fileno())

            return _spread(WRITE_BYTES / MEGA, DISK_REPEATS, write)
    except OSError:
        return None


def _spread(amount: float, repeats: int, work: Callable[[], None]) -> Spread:
    rates = []
    for _ in range(repeats):
        since = time.perf_counter()
        work()
        rates.append(amount / (time.perf_counter() - since))
    return Spread(low=min(rates), median=statistics.median(rates), high=max(rates))
