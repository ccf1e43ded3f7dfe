"""A container's way out: the engine's network that it joins, its link to this node, its outlet."""

from dataclasses import dataclass
from typing import Any

from ....models.egress import Egress
from ....models.egress_seen import EgressSeen
from ....models.errors import StartFailed
from ....models.limits import Effective
from ...network import egress
from ...network.link import found
from ...network.shaping import shape
from ...outlet.outlets import Outlet, Outlets
from ...outlet.places import NODE, PROXY_URL
from ..pod import LINKED, PEER_URL, PROXY, WATCHED, PodOrder
from .container import Container
from .host import HostView
from .network import NAMES, Networks


@dataclass(frozen=True, slots=True)
class Ways:
    """What containers of one engine share on their way out."""

    networks: Networks
    outlets: Outlets


class Way:
    """The way out of one container. Its container's network is the engine's, but for an outlet:
    then it is none, until ours is linked to it."""

    def __init__(self, order: PodOrder, ways: Ways) -> None:
        self._order, self._ways = order, ways
        self._outlet: Outlet | None = None
        self._watched = order.network in WATCHED

    def prepared(self) -> tuple[str, dict[str, str], dict[str, Any]]:
        """(the engine's network, what stands in the environment, more of the `HostConfig`).

        Raises:
            StartFailed: the network cannot be had.
        """
        network = NAMES[self._order.network]
        if self._watched:
            names = {"Dns": [str(NODE)], "DnsSearch": ["."]}
            return network, {PROXY: PROXY_URL}, names
        node = self._node()
        return network, {} if node is None else {PEER_URL: self._ways.networks.peer.url(node)}, {}

    def settled(self, container: Container, effective: Effective) -> Effective:
        """Make the way of a started container, now and whenever it is started again.

        Raises:
            StartFailed: it cannot be made, or is not what was asked for.
        """
        host, wanted = container.host, self._order.egress_mbps
        if self._watched:
            return self._let_out(container, host, effective)
        node = self._node()
        if node is None or wanted is None:
            return effective
        if host is None:
            raise StartFailed("the container's link cannot be reached from this machine")
        return self._capped(container, host, node, wanted, effective)

    def _let_out(
        self, container: Container, host: HostView | None, effective: Effective
    ) -> Effective:
        if host is None:
            raise StartFailed("the container's network cannot be reached from this machine")
        order = self._order
        outlet = self._outlet = self._ways.outlets.open(
            order.attempt_id, host.pid, order.allow, order.gateway, order.egress_mbps
        )
        host.watch.leave_out_traffic()
        container.met_again = lambda again: outlet.join_again(again.pid)
        wanted = order.egress_mbps
        return effective if wanted is None else egress.told(effective, wanted, outlet.rates)

    def _capped(
        self, container: Container, host: HostView, node: str, wanted: Egress, effective: Effective
    ) -> Effective:
        device, inside = found(host.pid)
        end = egress.PodEnd(host.pid, inside, device, node)
        seen = egress.settle(end, wanted, self._ways.networks.peer)
        host.watch.leave_out_traffic()
        if wanted != "unlimited":
            container.met_again = lambda again: shape(again.pid, *found(again.pid), wanted)
        return egress.told(effective, wanted, seen)

    def seen(self) -> EgressSeen | None:
        """What went through its outlet, if it has one."""
        return None if self._outlet is None else self._outlet.seen()

    def close(self) -> None:
        """End its outlet, if it has one."""
        if self._outlet is not None:
            self._outlet.close()

    def _node(self) -> str | None:
        """This machine's address for the container; None where it need not be known."""
        asked = self._order.network in LINKED or self._order.egress_mbps is not None
        if not asked or self._order.network == "none":
            return None
        return self._ways.networks.gateway(self._order.network)
