"""What a node is: hardware and software, as measured on it."""

import hashlib
import json

from pydantic import Field

from .value import Value


class NodeProfile(Value):
    """A node's hardware, kernel and runtimes. None: not readable there.

    Holds only what stays the same between boots of one machine: no name, no load, no free space,
    no package lists, so that equal machines have equal profiles. `cpu_max_mhz` is the highest
    frequency of any core (the nominal one where a hypervisor hides it), `cpu_cache_bytes` the
    last-level cache, sizes are in whole MiB. `virtualisation` and `container` name the kind in
    systemd's words ("none" on bare metal). `runtimes` holds versions by name.
    """

    cpu_model: str | None = None
    cpu_cores: int | None = None
    cpu_threads: int | None = None
    cpu_sockets: int | None = None
    cpu_max_mhz: float | None = None
    turbo: bool | None = None
    cpu_cache_bytes: int | None = None
    numa_nodes: int | None = None
    architecture: str
    memory_bytes: int | None = None
    swap_bytes: int | None = None
    kernel: str
    system: str | None = None
    cgroup_version: int | None = None
    virtualisation: str | None = None
    container: str | None = None
    disk_kind: str | None = None
    disk_bytes: int | None = None
    filesystem: str | None = None
    runtimes: dict[str, str] = Field(default_factory=dict)

    @property
    def profile_hash(self) -> str:
        """16 hex digits of the content: equal profiles, equal hash, in any field order."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
