"""A pod's order as the engine's words, and the engine's words as limits. Pure."""

from collections.abc import Mapping
from typing import Any

from ....models.limits import Effective, Limits
from ..pod import PodOrder
from ..process import group

LABEL = "dev.infranoise."
# PID 1 is the engine's init, which reaps orphans; it needs one child to wait for. This one is in
# every image with a shell, needs no argument that only one `sleep` knows, and lasts 68 years.
IDLE = ("sleep", "2147483647")
# What a trial could disturb its neighbours with on the shared bridge, or reach the host's disks by.
DROPPED_CAPABILITIES = ("NET_RAW", "MKNOD")


def labels(order: PodOrder, owner: str) -> dict[str, str]:
    """What a container says of itself to whoever has to clear it away."""
    return {
        f"{LABEL}experiment": order.experiment,
        f"{LABEL}trial": order.trial,
        f"{LABEL}attempt": order.attempt_id,
        f"{LABEL}expires-at": repr(order.expires_at),
        f"{LABEL}owner": owner,
    }


def container(
    order: PodOrder, image_id: str, owner: str, network: str, env: Mapping[str, str]
) -> dict[str, Any]:
    """The body of the engine's `create` call.

    The image's ENTRYPOINT, CMD and HEALTHCHECK are replaced: nothing runs in a pod but what is
    asked of it. Its ENV, USER and WORKDIR stand unless the order has its own.

    Args:
        network: the engine's network that it joins, or "none".
        env: what else stands in its environment.
    """
    body: dict[str, Any] = {
        "Image": image_id,
        "Entrypoint": [IDLE[0]],
        "Cmd": list(IDLE[1:]),
        "Healthcheck": {"Test": ["NONE"]},
        "Env": [f"{name}={value}" for name, value in {**env, **order.env}.items()],
        "Labels": labels(order, owner),
        "HostConfig": host_config(order.limits, network),
    }
    if order.workdir:
        body["WorkingDir"] = order.workdir
    return body


def host_config(limits: Limits, network_mode: str) -> dict[str, Any]:
    """Floors and ceilings as the engine's settings.

    Swap is stated whenever memory is: left out, the engine grants as much swap as memory. The CPU
    ceiling is a quota and not `NanoCpus`, which the engine refuses above the host's cores.
    """
    asked: dict[str, int | None] = {
        "MemoryReservation": limits.memory_floor_bytes,
        "Memory": limits.memory_ceiling_bytes,
        "MemorySwap": memory_and_swap_bytes(limits),
        "CpuShares": group.cpu_shares(limits.cpu_floor) if limits.cpu_floor else None,
        "CpuQuota": group.cpu_quota_us(limits.cpu_ceiling) if limits.cpu_ceiling else None,
        "CpuPeriod": group.CPU_PERIOD_US if limits.cpu_ceiling else None,
        "PidsLimit": limits.pids,
    }
    return {
        **{key: value for key, value in asked.items() if value is not None},
        "Init": True,
        "NetworkMode": network_mode,
        "SecurityOpt": ["no-new-privileges"],
        "CapDrop": list(DROPPED_CAPABILITIES),
        "LogConfig": {"Type": "none"},
        "RestartPolicy": {"Name": "no"},
    }


def memory_and_swap_bytes(limits: Limits) -> int | None:
    """Memory and swap together, as the engine counts them; None where memory is uncapped."""
    if limits.memory_ceiling_bytes is None:
        return None
    return limits.memory_ceiling_bytes + limits.swap_bytes


def accepted(config: Mapping[str, Any], enforcement: str) -> Effective:
    """The limits that the engine says it has set, from an inspected container's `HostConfig`."""
    quota, period = config.get("CpuQuota") or 0, config.get("CpuPeriod") or group.CPU_PERIOD_US
    return Effective(
        memory_floor_bytes=config.get("MemoryReservation") or None,
        memory_ceiling_bytes=config.get("Memory") or None,
        memory_and_swap_bytes=_positive(config.get("MemorySwap")),
        cpu_shares=config.get("CpuShares") or None,
        cpu_ceiling=quota / period if quota > 0 else None,
        cpuset=config.get("CpusetCpus") or None,
        pids=_positive(config.get("PidsLimit")),
        oom_scope="process",  # the kernel's own choice, until someone watches for more
        enforcement=enforcement,
    )


def _positive(value: int | None) -> int | None:
    return value if value and value > 0 else None


def differences(limits: Limits, got: Effective, cores: int) -> tuple[str, ...]:
    """Each limit that was asked for and is not in force, in words.

    Args:
        got: as read back.
        cores: the host's.
    """
    found = list(group.differences(limits, got))
    if limits.cpu_ceiling and limits.cpu_ceiling > cores:
        found.append(f"cpu ceiling: asked {limits.cpu_ceiling:g}, the host has {cores} cores")
    if limits.storage_floor_bytes:
        found.append("storage floor: asked, but Docker reserves no disk space")
    return tuple(found)


def expired(of: Mapping[str, str], now: float) -> bool:
    """Whether a container's labels say that its time is over."""
    try:
        return float(of[f"{LABEL}expires-at"]) < now
    except (KeyError, ValueError):
        return False
