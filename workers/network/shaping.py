"""A cap on the rate of a link, in both directions, by the kernel's token bucket filter.

What leaves the pod is queued at the pod's own end, what goes to it at this machine's end; without
the capability NET_ADMIN nothing in the pod can change either. Source: tc-tbf(8).
"""

import os
import shutil
from functools import cache

from ...models.errors import StartFailed
from ..tryout import why_not
from .iproute import asked, run
from .namespace import at, within

BITS = 8
MEGA = 1_000_000
BURST_S, LEAST_BURST_BYTES = 0.010, 16_384  # at least one segment of 10 packets and some
QUEUE_MS = 200
TRIED = ("tbf", "rate", "1mbit", "burst", "32kbit", "latency", "400ms")


@cache
def why_no_links() -> str:
    """Why this worker cannot make and cap links, with the remedy; "" if it can. Asked once."""
    if os.geteuid() != 0:
        return "links are made by root alone; run the worker as root"
    lacking = [program for program in ("ip", "tc") if shutil.which(program) is None]
    if lacking:
        return f"{' and '.join(lacking)} missing; install iproute2"
    refused = why_not("unshare", "-n", "tc", "qdisc", "add", "dev", "lo", "root", *TRIED)
    return f"no token bucket filter ({refused}); load the module sch_tbf" if refused else ""


def burst_bytes(cap_mbps: float) -> int:
    """How much may pass at once before the cap binds."""
    return max(LEAST_BURST_BYTES, round(cap_mbps * MEGA / BITS * BURST_S))


def shape(
    pid: int, device: str, inside: str, cap_mbps: float, namespace: int | None = None
) -> float:
    """Cap a pod's link both ways; the cap as the kernel has it, megabits per second.

    Args:
        pid: a process at the pod's end. device: this machine's end. inside: the pod's end.
        namespace: a descriptor of the network in which `device` is; None: this worker's own.
    Raises:
        StartFailed: the kernel would not.
    """

    def cap(name: str) -> float:
        rate = f"{round(cap_mbps * MEGA)}bit"
        words = ("rate", rate, "burst", str(burst_bytes(cap_mbps)), "latency", f"{QUEUE_MS}ms")
        run("tc", "qdisc", "replace", "dev", name, "root", "tbf", *words)
        return in_force(name)

    try:
        return max(at(namespace, lambda: cap(device)), within(pid, lambda: cap(inside)))
    except OSError as error:
        raise StartFailed(f"the pod's network cannot be entered: {error}") from error


def in_force(device: str) -> float:
    """The cap of a device as read back, megabits per second.

    Raises:
        StartFailed: there is none.
    """
    for qdisc in asked("tc", "qdisc", "show", "dev", device):
        if qdisc["kind"] == "tbf" and qdisc.get("root"):
            return float(qdisc["options"]["rate"]) * BITS / MEGA
    raise StartFailed(f"the cap of {device} is not in force: tc shows no tbf there")
