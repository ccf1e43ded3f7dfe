"""How busy this node is now."""

import os
from collections.abc import Iterable
from functools import cache

from ...models.load import Load
from .cgroup import value_of
from .procfs import Files

CPU_FOLDER = "sys/devices/system/cpu"


def read_load(files: Files | None = None) -> Load:
    """One reading of the whole node; fields that this kernel does not give are None.

    Sources: Linux Documentation/accounting/psi.rst, filesystems/proc.rst (stat, meminfo, vmstat),
    admin-guide/abi-stable (thermal_throttle).
    """
    files = files or Files()
    memory, counts = files.text("proc/meminfo") or "", files.text("proc/vmstat") or ""
    total, free = _kib(memory, "SwapTotal"), _kib(memory, "SwapFree")
    busy_s, steal_s = _cpu_s(files.text("proc/stat") or "")
    psi = {name: files.table(f"proc/pressure/{name}") for name in ("cpu", "memory", "io")}
    return Load(
        load1=_number((files.text("proc/loadavg") or "").split(" ")[0]),
        psi_cpu_some10=_pressure(psi["cpu"], "some"),
        psi_mem_some10=_pressure(psi["memory"], "some"),
        psi_mem_full10=_pressure(psi["memory"], "full"),
        psi_io_some10=_pressure(psi["io"], "some"),
        psi_io_full10=_pressure(psi["io"], "full"),
        steal_s=steal_s,
        busy_s=busy_s,
        mem_available_bytes=_kib(memory, "MemAvailable"),
        swap_used_bytes=None if total is None or free is None else total - free,
        swapped_pages=_sum(value_of(counts, name) for name in ("pswpin", "pswpout")),
        thermal_throttles=thermal_throttles(files),
        system_oom_kills=value_of(counts, "oom_kill"),
    )


def pressure(files: Files, resource: str, kind: str) -> float | None:
    """Percent of the last 10 s in which `kind` ("some", "full") tasks waited; None without PSI."""
    return _pressure(files.table(f"proc/pressure/{resource}"), kind)


def thermal_throttles(files: Files) -> int | None:
    """How often cores were slowed down for their temperature since boot; None: not counted here."""
    paths = _own_counts() if files == Files() else _counts(files)
    return _sum(files.whole(path) for path in paths)


@cache
def _own_counts() -> tuple[str, ...]:
    return _counts(Files())


def _counts(files: Files) -> tuple[str, ...]:
    return tuple(files.paths(CPU_FOLDER, "cpu[0-9]*/thermal_throttle/core_throttle_count"))


def _pressure(table: dict[str, str], kind: str) -> float | None:
    words = dict(word.partition("=")[::2] for word in table.get(kind, "").split())
    return _number(words.get("avg10", ""))


def _cpu_s(stat: str) -> tuple[float | None, float | None]:
    """(seconds in which CPUs worked, seconds that the hypervisor gave to others), of all CPUs.

    The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal; guests
    are counted in user already.
    """
    name, *fields = stat.partition("\n")[0].split()[:9] or ("",)
    if name != "cpu" or len(fields) < 8:
        return None, None
    ticks = [int(field) for field in fields]
    per_s = os.sysconf("SC_CLK_TCK")
    return (sum(ticks[:3]) + ticks[5] + ticks[6]) / per_s, ticks[7] / per_s


def _kib(meminfo: str, key: str) -> int | None:
    """A size of /proc/meminfo in bytes, without parsing the other lines."""
    _, _, rest = meminfo.partition(f"{key}:")
    amount = rest.partition("kB")[0].strip()
    return int(amount) * 1024 if amount.isdecimal() else None


def _sum(counts: Iterable[int | None]) -> int | None:
    told = [count for count in counts if count is not None]
    return sum(told) if told else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
