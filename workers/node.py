"""What this node is, read from the kernel."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from benchexec.systeminfo import is_turbo_boost_enabled

from ..models.node import NodeProfile
from .meters.procfs import Files

MIB = 1024 * 1024
CPU = "sys/devices/system/cpu"
CACHE_UNITS = {"K": 1024, "M": MIB, "G": 1024 * MIB}


def node_profile(
    runtimes: Mapping[str, str] | None = None,
    files: Files | None = None,
    disk: Path = Path("/"),
    reachable: Mapping[str, bool] | None = None,
) -> NodeProfile:
    """The profile of this node.

    Args:
        runtimes: versions of what runs pods here, by name; Python and benchexec are added.
        files: the kernel's files, another root in tests.
        disk: a path on the disk that pods write to; need not exist yet.
        reachable: what was tried to reach, and whether it answered.
    """
    files = files or Files()
    disk = next(p for p in (disk.absolute(), *disk.absolute().parents) if p.exists())
    return NodeProfile(
        cpu_model=_cpu_model(files),
        cpu_cores=_cores(files),
        cpu_threads=len(files.paths(CPU, "cpu[0-9]*/topology")) or os.cpu_count(),
        cpu_sockets=len(_topology(files, "physical_package_id")) or None,
        cpu_max_mhz=_max_mhz(files),
        turbo=_turbo(),
        cpu_governor=_governor(files),
        cpu_cache_bytes=_last_cache_bytes(files),
        cpu_caches=_caches(files),
        numa_nodes=len(files.paths("sys/devices/system/node", "node[0-9]*")) or None,
        architecture=platform.machine(),
        memory_bytes=_whole_mib(files.size_bytes("proc/meminfo", "MemTotal")),
        swap_bytes=_whole_mib(files.size_bytes("proc/meminfo", "SwapTotal")),
        overcommit=files.whole("proc/sys/vm/overcommit_memory"),
        huge_pages=_chosen(files.text("sys/kernel/mm/transparent_hugepage/enabled") or ""),
        kernel=platform.release(),
        system=_system(files),
        cgroup_version=cgroup_version(files),
        virtualisation=_virtualisation("--vm"),
        container=_virtualisation("--container"),
        disk_kind=_disk_kind(files, disk),
        disk_bytes=shutil.disk_usage(disk).total,
        filesystem=filesystem(files, disk),
        runtimes=_versions() | dict(runtimes or {}),
        reachable=dict(reachable or {}),
    )


def cgroup_version(files: Files) -> int | None:
    """1 where a v1 hierarchy holds the memory controller, 2 where the unified one does."""
    mounts = [line.split() for line in (files.text("proc/mounts") or "").splitlines()]
    if any(mount[2] == "cgroup" and "memory" in mount[3].split(",") for mount in mounts):
        return 1
    return 2 if any(mount[2] == "cgroup2" for mount in mounts) else None


def filesystem(files: Files, path: Path) -> str | None:
    """The kind of file system that a path lies on, such as ext4, overlay or tmpfs."""
    mounts = [line.split() for line in (files.text("proc/mounts") or "").splitlines()]
    holding = [mount for mount in mounts if path.absolute().is_relative_to(mount[1])]
    # Of mounts on one point the last hides the others.
    return max(enumerate(holding), key=lambda m: (len(m[1][1]), m[0]))[1][2] if holding else None


def _cpu_model(files: Files) -> str | None:
    info = files.table("proc/cpuinfo", ":")
    return info.get("model name") or info.get("Hardware") or info.get("CPU part")


def _topology(files: Files, *names: str) -> set[tuple[str | None, ...]]:
    folders = files.paths(CPU, "cpu[0-9]*/topology")
    return {tuple(files.text(f"{folder}/{name}") for name in names) for folder in folders}


def _cores(files: Files) -> int | None:
    return len(_topology(files, "physical_package_id", "core_id")) or None


def _max_mhz(files: Files) -> float | None:
    """The highest frequency; where the kernel hides it (virtual machines), the nominal one."""
    limits = (files.whole(path) for path in files.paths(CPU, "cpu*/cpufreq/cpuinfo_max_freq"))
    highest = max((limit for limit in limits if limit is not None), default=None)
    if highest is not None:
        return highest / 1000
    # On x86 a BogoMIPS is half a cycle of the time stamp counter.
    bogomips = files.table("proc/cpuinfo", ":").get("bogomips")
    return round(float(bogomips) / 2, -1) if bogomips else None


def _turbo() -> bool | None:
    try:
        enabled: bool | None = is_turbo_boost_enabled()
    except (OSError, SystemExit):  # benchexec exits on values that it does not know
        return None
    return enabled


def _governor(files: Files) -> str | None:
    """The way of choosing frequencies; several where cores differ."""
    paths = files.paths(CPU, "cpu*/cpufreq/scaling_governor")
    told = {text for path in paths if (text := files.text(path))}
    return ", ".join(sorted(told)) or None


def _last_cache_bytes(files: Files) -> int | None:
    caches = files.paths(f"{CPU}/cpu0/cache", "index[0-9]*")
    sizes = [(files.whole(f"{c}/level") or 0, files.text(f"{c}/size") or "") for c in caches]
    return _size_bytes(max(sizes, default=(0, ""))[1])


def _caches(files: Files) -> dict[str, int]:
    """Caches that the first core has or shares, as L1d, L1i, L2, L3."""
    found = {}
    for cache in files.paths(f"{CPU}/cpu0/cache", "index[0-9]*"):
        level, kind = files.whole(f"{cache}/level"), files.text(f"{cache}/type") or "Unified"
        size_bytes = _size_bytes(files.text(f"{cache}/size") or "")
        if level and size_bytes:
            found[f"L{level}{'' if kind == 'Unified' else kind[0].lower()}"] = size_bytes
    return found


def _size_bytes(size: str) -> int | None:
    amount, unit = size[:-1], CACHE_UNITS.get(size[-1:])
    return int(amount) * unit if unit and amount.isdecimal() else None


def _chosen(words: str) -> str | None:
    """The word in brackets, as the kernel marks what it does among what it can."""
    return next((word.strip("[]") for word in words.split() if word.startswith("[")), None)


def _whole_mib(size_bytes: int | None) -> int | None:
    """Without what differs by a kernel's own appetite from boot to boot."""
    return None if size_bytes is None else size_bytes // MIB * MIB


def _system(files: Files) -> str | None:
    name = files.table("etc/os-release", "=").get("PRETTY_NAME", "").strip('"')
    return name or None


def _virtualisation(kind: str) -> str | None:
    """What systemd calls the hypervisor or container; "none" without one; None without systemd."""
    program = shutil.which("systemd-detect-virt")
    if program is None:
        return None
    said = subprocess.run([program, kind], capture_output=True, text=True, check=False)
    return said.stdout.strip() or None


def _disk_kind(files: Files, disk: Path) -> str | None:
    device = disk.stat().st_dev
    block = f"sys/dev/block/{os.major(device)}:{os.minor(device)}"
    # A partition has no queue of its own, its disk has.
    turns = files.whole(f"{block}/queue/rotational")
    if turns is None:
        turns = files.whole(f"{block}/../queue/rotational")
    return None if turns is None else "rotating" if turns else "solid state"


def _versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "benchexec": importlib.metadata.version("benchexec"),
    }
