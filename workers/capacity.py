"""What this node offers: cores, memory for pods, and slots."""

import os
from pathlib import Path

from ..models.lease.capacity import CLUSTER_BYTES, CLUSTER_CPUS, Capacity
from .meters.procfs import Files
from .settings import WorkerSettings

KEPT_BACK = 0.05  # of the memory: for the worker, the kernel and the page cache


def capacity_here(settings: WorkerSettings, files: Files | None = None) -> Capacity:
    """What this node offers: what it was told to, else what the machine has.

    A worker whose pods are all a cluster's offers slots alone: floors are for the cluster to hold.
    """
    elsewhere = settings.runtimes == ("kubernetes",)
    cpus = CLUSTER_CPUS if elsewhere else os.cpu_count() or 1
    memory_bytes = CLUSTER_BYTES if elsewhere else memory_for_pods(files or Files(Path("/")))
    return Capacity(
        cpu_m=round(1000 * (settings.cpus or cpus)),
        memory_bytes=settings.memory_bytes or memory_bytes,
        slots=settings.slots,
    )


def memory_for_pods(files: Files) -> int:
    """Bytes of the machine's memory that floors may take; 0 where it cannot be read."""
    total = files.size_bytes("proc/meminfo", "MemTotal") or 0
    return int(total * (1 - KEPT_BACK))
