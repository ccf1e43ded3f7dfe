"""Who made a pod, so that another worker can tell whether its maker still lives.

An owner is `boot:pidspace:pid:start`: the boot of the kernel, the PID namespace that the pid
counts in (two workers in two containers may both be pid 7), the pid, and when that process
started (a pid is used again).
"""

import os
from functools import cache
from pathlib import Path

PROC = Path("/proc")
_STATE, _START = 0, 19  # fields of /proc/PID/stat, counted behind the command's closing bracket


@cache
def here(proc: Path = PROC) -> str:
    """This kernel's boot and PID namespace."""
    boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
    namespace = (proc / "self/ns/pid").readlink().name
    return f"{boot}:{namespace.removeprefix('pid:').strip('[]')}"


def owner(pid: int | None = None, proc: Path = PROC) -> str:
    """The name of a living process (None: this one) as an owner."""
    pid = os.getpid() if pid is None else pid
    return f"{here(proc)}:{pid}:{_started(pid, proc)}"


def dead(name: str, *, one_machine: bool, proc: Path = PROC) -> bool:
    """Whether an owner is known to be gone; False where that cannot be known from here.

    Args:
        name: as `owner` gave it.
        one_machine: only this machine could have made the pod, so that another boot is an
            earlier one.
    """
    boot, _, rest = name.partition(":")
    this_boot, _, this_namespace = here(proc).partition(":")
    if boot != this_boot:
        return one_machine
    namespace, _, process = rest.partition(":")
    pid, _, started = process.partition(":")
    if namespace != this_namespace or not pid.isdigit():
        return False
    return _started(int(pid), proc) != started


def _started(pid: int, proc: Path) -> str | None:
    """When a process started, in clock ticks since boot; None if there is no such process."""
    try:
        stat = (proc / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in "ZX" else fields[_START]
