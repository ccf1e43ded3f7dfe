"""Links: the network that a pod has, and whether the rate of its link is set and measured.

A node tells which it cannot make, so that no trial is sent where its pod would be refused.
"""

from typing import Literal

from .egress import Egress
from .task import Task

Network = Literal["none", "internal", "gateway", "public"]
CAPPED = ", capped"
LINKS: dict[str, tuple[Network, Egress | None]] = {
    "none": ("none", None),
    "internal": ("internal", None),
    "gateway": ("gateway", None),
    "public": ("public", None),
    f"internal{CAPPED}": ("internal", "unlimited"),
    f"gateway{CAPPED}": ("gateway", "unlimited"),
    f"public{CAPPED}": ("public", "unlimited"),
}
"""Every link by name, with an order that asks for it."""


def network_of(task: Task, network: Network) -> Network:
    """The network of a task's pods: the experiment's, unless the task itself wants less.

    A task with an allow-list of its own gets what that names, and, under "gateway", what the
    experiment allows as well.

    Args:
        network: the experiment's.
    """
    if task.network_mode == "no-network":
        return "none"
    if task.network_mode == "allowlist" and network == "public":
        return "gateway"
    return network


def link_of(task: Task, network: Network, *, capped: bool) -> str:
    """The name of the link that a task's pods need.

    Args:
        network: the experiment's.
        capped: whether egress is a factor, at whichever level: also "unlimited" is measured.
    """
    name = network_of(task, network)
    return f"{name}{CAPPED}" if capped and name != "none" else name
