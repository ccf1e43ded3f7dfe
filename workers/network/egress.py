"""What a pod's egress was asked to be, made so, and measured: a cap is never just believed."""

from dataclasses import dataclass

from ...models.egress import Egress
from ...models.errors import StartFailed
from ...models.limits import Effective
from .peer import Peer
from .rates import Rates, measure
from .shaping import shape, why_no_links

TOO_FAST, TOO_SLOW = 1.25, 0.75  # of the cap; payload is 0.95 of what a link carries
TRIES = 3


@dataclass(frozen=True, slots=True)
class PodEnd:
    """A pod's link: `pid` is in the pod's network, where the link is called `inside`; `device` is
    its end on this machine, `node` this machine's address as the pod sees it. `namespace` stands
    for the network in which `device` is; None: this worker's own."""

    pid: int
    inside: str
    device: str
    node: str
    namespace: int | None = None


def settle(end: PodEnd, wanted: Egress, peer: Peer) -> dict[str, float | None]:
    """Bring a pod's egress about and measure it; the fields of `Effective` that tell of it.

    Raises:
        StartFailed: the cap is not in force, or this node cannot be reached through the link.
    """
    cap_mbps = None if wanted == "unlimited" else wanted
    place = (end.pid, end.device, end.inside)
    got = None if cap_mbps is None else shape(*place, cap_mbps, end.namespace)
    rates = _measured(end, cap_mbps, peer)
    return {
        "egress_mbps": got,
        "egress_down_mbps": rates.down_mbps,
        "egress_up_mbps": rates.up_mbps,
    }


def _measured(end: PodEnd, cap_mbps: float | None, peer: Peer) -> Rates:
    """Rates that agree with the cap, if any of some tries does: a busy machine disturbs single
    ones. Too fast in all of them is no cap at all; too slow is for others to judge.

    Raises:
        StartFailed: the cap does not bind.
    """
    for _ in range(TRIES):
        rates = measure(end.pid, (end.node, peer.port(end.node)), cap_mbps)
        if cap_mbps is None or not (_above(rates, cap_mbps) or _below(rates, cap_mbps)):
            return rates
    if cap_mbps is not None and _above(rates, cap_mbps):
        raise StartFailed(
            f"the egress cap of {cap_mbps:g} Mbit/s does not bind: {rates.down_mbps:.3g} Mbit/s "
            f"to the pod and {rates.up_mbps:.3g} from it were measured",
            egress_mbps=cap_mbps,
            egress_down_mbps=rates.down_mbps,
            egress_up_mbps=rates.up_mbps,
        )
    return rates


def _above(rates: Rates, cap_mbps: float) -> bool:
    return max(rates.down_mbps, rates.up_mbps) > TOO_FAST * cap_mbps


def _below(rates: Rates, cap_mbps: float) -> bool:
    return min(rates.down_mbps, rates.up_mbps) < TOO_SLOW * cap_mbps


def told(effective: Effective, wanted: Egress, seen: dict[str, float | None]) -> Effective:
    """Limits in force with the egress among them; a link slower than its cap is a difference."""
    slowest = min(seen["egress_down_mbps"] or 0.0, seen["egress_up_mbps"] or 0.0)
    differs = effective.differs
    if wanted != "unlimited" and slowest < TOO_SLOW * wanted:
        differs += (f"egress: asked {wanted:g} Mbit/s, the link gives less than three quarters",)
    return effective.model_copy(update={**seen, "differs": differs})


def no_link() -> str | None:
    """Why pods cannot be linked to this node by us, with the remedy; None if they can."""
    why = why_no_links()
    return f'network = "internal" needs links to the node: {why}' if why else None


def no_cap(network: str, wanted: Egress | None, *, linked: bool) -> str | None:
    """Why egress cannot be set here, with the remedy; None if it can or need not be.

    Args:
        linked: whether a pod with this network has a link of its own on this node.
    """
    if wanted is None or network == "none":  # nothing passes, so there is nothing to cap
        return None
    if not linked:
        return (
            f'egress_mbps cannot be set with network = "{network}" here: these pods share the '
            'node\'s own network; set network = "internal", or take runtime = "docker"'
        )
    why = why_no_links()
    return f"egress_mbps cannot be set on this node: {why}" if why else None
