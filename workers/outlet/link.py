"""The link of a pod with an outlet: to a network of nobody's, in which only the outlet listens.

The near end of the pod's veth pair is not on this machine's network but in a namespace of its own.
What is sent to an address that may lead somewhere is taken in there (it is local); for all else
there is no route, whatever else the kernel is set to. What of it is tried is heard and refused.
When the last descriptor of that namespace is closed, or the pod's has gone, the kernel removes the
pair; so a worker that is killed leaves nothing.
"""

import contextlib
import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Network
from pathlib import Path

from ...models.egress import Egress
from ...models.errors import StartFailed
from ..network import egress
from ..network.iproute import batch, run
from ..network.link import INSIDE
from ..network.namespace import fresh, inside, within
from ..network.peer import Peer
from ..network.shaping import why_no_links
from . import sniff
from .places import DNS_PORT, NAMES, NODE, POD, PROXY_PORT

DEVICE = "pod"
NO_IPV6 = Path("/proc/sys/net/ipv6/conf/default/disable_ipv6")
BACKLOG = 128


@dataclass(frozen=True, slots=True)
class NearEnd:
    """The namespace at this node's end of a pod's link, as a descriptor, and what listens there:
    the sockets for names, for hearing what leads nowhere, for refusing it, then the listeners."""

    namespace: int
    sockets: tuple[socket.socket, ...]

    def let_go(self) -> None:
        """Close our own handles of the sockets; who was handed them has theirs."""
        for one in self.sockets:
            one.close()


def near_end(pid: int, ports: Iterable[int], networks: Iterable[IPv4Network]) -> NearEnd:
    """Link a process, whose network has no `eth0` yet, to a fresh network of nobody's.

    Args:
        ports: that may lead anywhere. networks: that may be reached by their addresses.
    Raises:
        StartFailed: this worker may not, or iproute2 is missing.
    """
    try:
        namespace = fresh()
    except OSError as error:
        raise StartFailed(f"no network for the pod's outlet: {error}") from error
    try:
        join(namespace, pid, networks)
        sockets = inside(namespace, lambda: _listening(ports))
    except OSError as error:
        os.close(namespace)
        raise StartFailed(f"no outlet for the pod: {error}") from error
    except BaseException:
        os.close(namespace)
        raise
    return NearEnd(namespace, sockets)


def join(namespace: int, pid: int, networks: Iterable[IPv4Network]) -> None:
    """Make the link between a pod's network and the near end's.

    Raises:
        StartFailed: as `near_end`. OSError: a namespace cannot be entered.
    """
    local = [f"route replace local {network} dev lo" for network in (NAMES, *networks)]
    near = (
        f"link add {DEVICE} type veth peer name {INSIDE} netns {pid}",
        f"addr add {NODE} peer {POD} dev {DEVICE}",
        f"link set {DEVICE} up",
        "link set lo up",
        *local,
    )
    far = (
        f"addr add {POD} peer {NODE} dev {INSIDE}",
        f"link set {INSIDE} up",
        f"route add default via {NODE} dev {INSIDE}",
    )

    def make(lines: Iterable[str]) -> None:
        with contextlib.suppress(OSError):  # nothing here listens on IPv6: it is only a spare word
            NO_IPV6.write_text("1")
        batch("ip", *lines)

    inside(namespace, partial(make, near))
    within(pid, partial(make, far))


def join_again(namespace: int, pid: int, networks: Iterable[IPv4Network]) -> None:
    """Make the link to the next life of a pod: the first one goes with its network, but not at
    once. Raises as `join`."""

    def forget() -> None:
        with contextlib.suppress(StartFailed):  # it is gone already
            run("ip", "link", "del", DEVICE)

    inside(namespace, forget)
    join(namespace, pid, networks)


def settle(namespace: int, pid: int, wanted: Egress) -> dict[str, float | None]:
    """Cap and measure the link, before anything listens at its near end but for that.

    Raises:
        StartFailed: as `egress.settle`.
    """
    peer = Peer(namespace)
    try:
        return egress.settle(egress.PodEnd(pid, INSIDE, DEVICE, str(NODE), namespace), wanted, peer)
    finally:
        peer.close()


def _listening(ports: Iterable[int]) -> tuple[socket.socket, ...]:
    made: list[socket.socket] = []
    try:
        made.append(_bound(socket.SOCK_DGRAM, str(NODE), DNS_PORT))
        made.append(sniff.listen())
        made.append(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
        for port in sorted({*ports, DNS_PORT, PROXY_PORT}):
            made.append(_bound(socket.SOCK_STREAM, "0.0.0.0", port))
            made[-1].listen(BACKLOG)
    except OSError:
        for one in made:
            one.close()
        raise
    return tuple(made)


def _bound(kind: int, address: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((address, port))
    return made


@cache
def why_no_outlets() -> str:
    """Why pods cannot have outlets on this node, with the remedy; "" if they can. Asked once."""
    if why := why_no_links():
        return why
    try:
        namespace = fresh()
    except OSError as error:
        return f"no network namespaces ({error}); run the worker as root"
    try:
        inside(namespace, _tried)
    except (OSError, StartFailed) as error:
        return f"no outlet can be made ({error}); give the worker NET_ADMIN and NET_RAW"
    finally:
        os.close(namespace)
    return ""


def _tried() -> None:
    batch("ip", "link set lo up", f"route add local {NAMES} dev lo")
    sniff.listen().close()
