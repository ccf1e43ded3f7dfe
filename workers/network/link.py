"""A link between a process pod and this node: it leads to one address here and nowhere else.

A veth pair: one end is the pod's `eth0`, the other is on this machine. The pod has a route to
`NODE` and no default route. The kernel removes the pair with the pod's network namespace.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address

from ...models.errors import StartFailed
from .iproute import asked, batch, run
from .namespace import within

NODE = IPv4Address("198.18.0.1")  # RFC 2544's range for tests: nobody's on the internet
FIRST, ADDRESSES = int(NODE) + 1, 2**17 - 4
INSIDE = "eth0"


@dataclass(frozen=True, slots=True)
class Link:
    """A pod's link. `device` is its end on this machine, `pid` a process at its other end,
    `node` the address at which the pod finds this machine."""

    pid: int
    device: str
    node: str


def join(pid: int) -> Link:
    """Link the network namespace of a process, which has no `eth0` yet, to this machine.

    Raises:
        StartFailed: this worker may not make links, or iproute2 is missing.
    """
    device = f"ir{pid}"
    run("ip", "link", "add", device, "type", "veth", "peer", "name", INSIDE, "netns", str(pid))
    index = asked("ip", "link", "show", "dev", device)[0]["ifindex"]
    address = address_of(index)
    batch("ip", f"addr add {NODE} peer {address} dev {device}", f"link set {device} up")
    lines = (
        f"addr add {address}/32 dev {INSIDE}",
        f"link set {INSIDE} up",
        f"route add {NODE} dev {INSIDE}",
    )
    try:
        within(pid, lambda: batch("ip", *lines))
    except OSError as error:
        raise StartFailed(f"the pod's network cannot be entered: {error}") from error
    return Link(pid, device, str(NODE))


def address_of(index: int) -> IPv4Address:
    """The pod's address on a link of this number; numbers of links that live together differ.

    >>> address_of(7)
    IPv4Address('198.18.0.9')
    """
    return IPv4Address(FIRST + index % ADDRESSES)


def found(pid: int) -> tuple[str, str]:
    """(the other end's device on this machine, the pod's device) of a link that others made.

    Raises:
        StartFailed: the pod has no link, or its other end is not in this worker's network.
    """
    try:
        inside = within(pid, lambda: asked("ip", "link", "show"))
    except OSError as error:
        raise StartFailed(f"the pod's network cannot be entered: {error}") from error
    pairs = {one["link_index"]: one["ifname"] for one in inside if "link_index" in one}
    for one in asked("ip", "link", "show"):
        if one["ifindex"] in pairs and one.get("link_index"):
            return str(one["ifname"]), str(pairs[one["ifindex"]])
    raise StartFailed(
        "no end of the pod's link is in this worker's network; run the worker in the host's "
        "network (docker run --network host), on the machine of the engine"
    )
