"""A process pod's way out of its own network: a link to this node, or an outlet."""

from pathlib import Path, PurePosixPath

from ....models.egress_seen import EgressSeen
from ....models.limits import Effective
from ...network import egress
from ...network.link import INSIDE, Link, join
from ...network.peer import Peer
from ...outlet.outlets import Outlet, Outlets
from ...outlet.places import NODE, PROXY_URL
from ..pod import LINKED, PEER_URL, PROXY, WATCHED, PodOrder
from . import tree_copy
from .tree_steps import Owner

NAMES = {
    "resolv.conf": f"nameserver {NODE}\n",
    "hosts": "127.0.0.1 localhost\n",
    "nsswitch.conf": "hosts: files dns\n",
}


class Way:
    """The way out of one pod. A pod on its node's network, or on none, has none of its own."""

    def __init__(self, order: PodOrder, peer: Peer, outlets: Outlets) -> None:
        self._order, self._peer, self._outlets = order, peer, outlets
        self._link: Link | None = None
        self._outlet: Outlet | None = None

    def lay_names(self, folder: Path, tree: Path, owner: Owner | None) -> None:
        """Have a pod with an outlet ask that for names, and know none of this machine's own.

        Args:
            folder: of the pod's own, outside its tree.
        """
        if self._order.network not in WATCHED:
            return
        for name, text in NAMES.items():
            (folder / name).write_text(text)
            tree_copy.put(tree, folder / name, PurePosixPath("/etc", name), owner)

    def opened(self, pid: int, effective: Effective) -> Effective:
        """Make the way, and settle its egress; the limits in force with that among them.

        Raises:
            StartFailed: it cannot be made, or is not what was asked for.
        """
        order, wanted = self._order, self._order.egress_mbps
        if order.network in WATCHED:
            self._outlet = self._outlets.open(
                order.attempt_id, pid, order.allow, order.gateway, wanted
            )
            rates = self._outlet.rates
            return effective if wanted is None else egress.told(effective, wanted, rates)
        if order.network not in LINKED:
            return effective
        self._link = link = join(pid)
        if wanted is None:
            return effective
        seen = egress.settle(egress.PodEnd(pid, INSIDE, link.device, link.node), wanted, self._peer)
        return egress.told(effective, wanted, seen)

    def env(self) -> dict[str, str]:
        """What commands in the pod find of it."""
        linked = {} if self._link is None else {PEER_URL: self._peer.url(self._link.node)}
        return linked if self._outlet is None else {PROXY: PROXY_URL}

    def seen(self) -> EgressSeen | None:
        """What went through its outlet, if it has one."""
        return None if self._outlet is None else self._outlet.seen()

    def close(self) -> None:
        """End its outlet, if it has one."""
        if self._outlet is not None:
            self._outlet.close()
