"""A cluster's node as a profile: from the API's object, its kubelet's settings, and from inside a
pod on it. Pure."""

from collections.abc import Mapping
from typing import Any

from .kube_quantity import quantity
from .node import ClusterNode, NodeProfile

Object = Mapping[str, Any]
Scalar = str | int | float | bool
MIB = 1 << 20
LABELS = (
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "karpenter.sh/capacity-type",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/capacityType",
    "eks.amazonaws.com/nodegroup",
    "cloud.google.com/gke-spot",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/scalesetpriority",
    "kubernetes.azure.com/agentpool",
)
OWN_LABELS = "infranoise.dev/"
SETTINGS = (
    "cpuManagerPolicy",
    "topologyManagerPolicy",
    "memoryManagerPolicy",
    "cpuCFSQuota",
    "cpuCFSQuotaPeriod",
    "singleProcessOOMKill",
    "podPidsLimit",
    "maxPods",
    "containerLogMaxSize",
    "serializeImagePulls",
    "failSwapOn",
    "memoryReservationPolicy",
)
GROUPS = ("evictionHard", "evictionSoft", "systemReserved", "kubeReserved", "memorySwap")


def profile(
    node: Object, settings: Object | None = None, inside: Mapping[str, str] | None = None
) -> NodeProfile:
    """What a node is.

    Args:
        node: its object; empty: it may not be read.
        settings: its kubelet's configuration; None: it may not be read.
        inside: kernel files as a pod on it sees them, by path; see `scripts.NODE_FILES`.
    """
    status, seen = node.get("status") or {}, inside or {}
    info, capacity = status.get("nodeInfo") or {}, status.get("capacity") or {}
    runtime, _, version = str(info.get("containerRuntimeVersion", "")).partition("://")
    versions = {"kubelet": info.get("kubeletVersion"), runtime: version}
    return NodeProfile(
        cpu_model=_cpu_model(seen.get("proc/cpuinfo", "")),
        cpu_threads=int(quantity(capacity["cpu"])) if "cpu" in capacity else None,
        architecture=str(info.get("architecture", "unknown")),
        memory_bytes=_whole_mib(capacity.get("memory")),
        kernel=info.get("kernelVersion") or _kernel(seen.get("proc/version", "")),
        system=info.get("osImage") or None,
        cgroup_version=_cgroup_version(seen),
        runtimes={name: str(said) for name, said in versions.items() if name and said},
        cluster=_of_a_cluster(node, settings, seen),
    )


def boot(node: Object) -> str:
    """The boot of a node's kernel: what is read inside stays true until the next one."""
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get("bootID", ""))


def _of_a_cluster(node: Object, settings: Object | None, inside: Mapping[str, str]) -> ClusterNode:
    has = (node.get("status") or {}).get("allocatable") or {}
    labels = (node.get("metadata") or {}).get("labels") or {}
    kept = {k: v for k, v in labels.items() if k in LABELS or k.startswith(OWN_LABELS)}
    return ClusterNode(
        labels=dict(sorted(kept.items())),
        allocatable_cpus=float(quantity(has["cpu"])) if "cpu" in has else None,
        allocatable_memory_bytes=_whole_mib(has.get("memory")),
        allocatable_storage_bytes=_whole_mib(has.get("ephemeral-storage")),
        allocatable_pods=int(has["pods"]) if "pods" in has else None,
        kubelet=None if settings is None else _settings(settings),
        oom_group=_flag(inside.get("memory.oom.group")),
        cpus_seen=_cpus_seen(inside.get("proc/cpuinfo", "")),
    )


def _settings(found: Object) -> dict[str, Scalar]:
    """The settings that change what a pod meets, flat; what is not said is not known."""
    plain: dict[str, Scalar] = {name: found[name] for name in SETTINGS if name in found}
    grouped = {
        f"{group}.{name}": value
        for group in GROUPS
        for name, value in sorted((found.get(group) or {}).items())
        if isinstance(value, str | int | float | bool)
    }
    return plain | grouped


def _kernel(text: str) -> str:
    words = text.split()
    return words[2] if words[:2] == ["Linux", "version"] and len(words) > 2 else "unknown"


def _cpu_model(text: str) -> str | None:
    rows = (line.partition(":") for line in text.splitlines())
    return next((value.strip() for name, _, value in rows if name.strip() == "model name"), None)


def _cpus_seen(text: str) -> int | None:
    return sum(line.partition(":")[0].strip() == "processor" for line in text.splitlines()) or None


def _cgroup_version(inside: Mapping[str, str]) -> int | None:
    if "memory.events" in inside:
        return 2
    return 1 if "memory/memory.oom_control" in inside else None


def _flag(text: str | None) -> bool | None:
    return None if text is None else text.strip() == "1"


def _whole_mib(amount: str | None) -> int | None:
    """Without what differs by a kernel's own appetite from boot to boot."""
    return None if amount is None else int(quantity(amount)) // MIB * MIB
