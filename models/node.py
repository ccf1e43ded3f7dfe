"""What a node is: hardware and software, as measured on it."""

import hashlib
import json

from pydantic import Field

from .value import Value


class ClusterNode(Value):
    """What a node of a cluster is beyond its hardware.

    `labels` are those of its class, place and price, and our own. `allocatable_*` is what pods may
    take in all, sizes in whole MiB. `kubelet` are settings that change what a pod meets, by their
    own names; None: they may not be read; a name that is missing is not known. Inside a pod:
    `oom_group` (one kill ends the whole container) and `cpus_seen`, the cores that it counts.
    """

    labels: dict[str, str] = Field(default_factory=dict)
    allocatable_cpus: float | None = None
    allocatable_memory_bytes: int | None = None
    allocatable_storage_bytes: int | None = None
    allocatable_pods: int | None = None
    kubelet: dict[str, str | int | float | bool] | None = None
    oom_group: bool | None = None
    cpus_seen: int | None = None


# Fields that came later: left at their default they are no part of the hash, which stays as it was.
LATER = ("cpu_governor", "cpu_caches", "overcommit", "huge_pages", "reachable", "cluster")


class NodeProfile(Value):
    """A node's hardware, kernel and runtimes. None: not readable there.

    Holds only what stays the same between boots of one machine: no name, no load, no free space,
    no package lists, so that equal machines have equal profiles. `cpu_max_mhz` is the highest
    frequency of any core (the nominal one where a hypervisor hides it), `cpu_cache_bytes` the
    last-level cache, `cpu_caches` all of one core's by name ("L1d"), sizes are in whole MiB.
    `cpu_governor` is the kernel's way of choosing frequencies, `overcommit` vm.overcommit_memory,
    `huge_pages` the way of transparent ones. `virtualisation` and `container` name the kind in
    systemd's words ("none" on bare metal). `runtimes` holds versions by name, `reachable` whether
    name servers, registries and named hosts answered when the node was looked at, `cluster` what is
    so of a cluster's node alone.
    """

    cpu_model: str | None = None
    cpu_cores: int | None = None
    cpu_threads: int | None = None
    cpu_sockets: int | None = None
    cpu_max_mhz: float | None = None
    turbo: bool | None = None
    cpu_governor: str | None = None
    cpu_cache_bytes: int | None = None
    cpu_caches: dict[str, int] = Field(default_factory=dict)
    numa_nodes: int | None = None
    architecture: str
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    overcommit: int | None = None
    huge_pages: str | None = None
    kernel: str
    system: str | None = None
    cgroup_version: int | None = None
    virtualisation: str | None = None
    container: str | None = None
    disk_kind: str | None = None
    disk_bytes: int | None = None
    filesystem: str | None = None
    runtimes: dict[str, str] = Field(default_factory=dict)
    cluster: ClusterNode | None = None
    reachable: dict[str, bool] = Field(default_factory=dict)

    @property
    def profile_hash(self) -> str:
        """16 hex digits of the content: equal profiles, equal hash, in any field order."""
        defaults = NodeProfile.model_construct(architecture="", kernel="")
        unsaid = {n for n in LATER if getattr(self, n) == getattr(defaults, n)}
        told = self.model_dump(mode="json", exclude=unsaid)
        text = json.dumps(told, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
