"""How busy this node is now."""

import os

from ...models.load import Load
from .procfs import Files


def read_load(files: Files | None = None) -> Load:
    """One reading of the whole node; fields that this kernel does not give are None.

    Sources: Linux Documentation/accounting/psi.rst, filesystems/proc.rst (stat, meminfo, vmstat).
    """
    files = files or Files()
    total, free = (files.size_bytes("proc/meminfo", key) for key in ("SwapTotal", "SwapFree"))
    return Load(
        load1=_number((files.text("proc/loadavg") or "").split(" ")[0]),
        psi_cpu_some10=pressure(files, "cpu", "some"),
        psi_mem_some10=pressure(files, "memory", "some"),
        psi_mem_full10=pressure(files, "memory", "full"),
        psi_io_some10=pressure(files, "io", "some"),
        psi_io_full10=pressure(files, "io", "full"),
        steal_s=_steal_s(files.line("proc/stat", "cpu")),
        mem_available_bytes=files.size_bytes("proc/meminfo", "MemAvailable"),
        swap_used_bytes=None if total is None or free is None else total - free,
        system_oom_kills=_oom_kills(files),
    )


def pressure(files: Files, resource: str, kind: str) -> float | None:
    """Percent of the last 10 s in which `kind` ("some", "full") tasks waited; None without PSI."""
    line = files.line(f"proc/pressure/{resource}", kind)
    words = dict(word.partition("=")[::2] for word in line.split())
    return _number(words.get("avg10", ""))


def _steal_s(line: str) -> float | None:
    """Seconds that the hypervisor gave to others, the eighth number of /proc/stat's first line."""
    fields = line.split()
    return int(fields[7]) / os.sysconf("SC_CLK_TCK") if len(fields) > 7 else None


def _oom_kills(files: Files) -> int | None:
    kills = files.line("proc/vmstat", "oom_kill")
    return int(kills) if kills.isdecimal() else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
