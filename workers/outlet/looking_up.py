"""Names looked up by this node for its pods, and addresses that a name may not stand for."""

import asyncio
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address

from ...models.egress_seen import DnsFault

WITHIN_S = 5.0
KEPT_S = 30.0
MOST_KEPT = 4096
NO_SUCH = frozenset({socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)})

type Address = IPv4Address | IPv6Address


class Unresolved(Exception):
    """A name that got no address."""

    def __init__(self, fault: DnsFault) -> None:
        super().__init__(fault)
        self.fault: DnsFault = fault


@dataclass(slots=True)
class LookUp:
    """This node's way to look names up. `fixed` names have addresses of the node's own choice."""

    fixed: Mapping[str, tuple[str, ...]]
    _kept: dict[tuple[str, bool], tuple[float, tuple[str, ...]]] = field(default_factory=dict)

    async def addresses(self, name: str, *, may_lead_here: bool = False) -> tuple[str, ...]:
        """The addresses of a name, in the order in which they are to be tried.

        Args:
            may_lead_here: it is a name of ours, which may stand for this node itself.
        Raises:
            Unresolved: with the reason; "forbidden": it stands for this node itself alone.
        """
        if name in self.fixed:
            return self.fixed[name]
        key = (name, may_lead_here)
        until, known = self._kept.get(key, (0.0, ()))
        if time.monotonic() < until:
            return known
        found = tuple(
            a for a in await _asked(name) if may_lead_here or not leads_here(ip_address(a))
        )
        if not found:
            raise Unresolved("forbidden")
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = (time.monotonic() + KEPT_S, found)
        return found


async def _asked(name: str) -> tuple[str, ...]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(WITHIN_S):
            rows = await loop.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except TimeoutError as error:
        raise Unresolved("timed out") from error
    except socket.gaierror as error:
        known = error.errno in NO_SUCH
        raise Unresolved("no such name" if known else "server failed") from error
    except (OSError, UnicodeError) as error:
        raise Unresolved("server failed") from error
    return tuple(dict.fromkeys(str(row[4][0]).partition("%")[0] for row in rows))


def leads_here(address: Address) -> bool:
    """Whether an address is this machine's own, or one that only this machine's links know.

    A name below an allowed one may be anyone's to set; it must not open the node's own ports.
    """
    if address.is_loopback or address.is_link_local or address.is_multicast:
        return True
    if address.is_unspecified or getattr(address, "ipv4_mapped", None) is not None:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))  # the kernel binds to addresses of its own alone
    except OSError:
        return False
    return True
