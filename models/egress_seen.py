"""What went out of a pod whose way out is watched over, and what did not."""

from typing import Literal

from pydantic import Field

from .value import Value

DnsFault = Literal["forbidden", "no such name", "server failed", "timed out", "malformed"]
NETWORK_FAULTS: frozenset[DnsFault] = frozenset({"server failed", "timed out"})
"""Names that nobody could look up for a reason of the network's; the others are answers."""
RefusedAs = Literal["tcp", "udp", "ip", "server name", "host header", "malformed", "too many"]

GATEWAY = "gateway"
"""How the gateway itself is called among hosts."""


class HostSeen(Value):
    """One host at one port. Bytes are payload: `bytes_out` from the pod, `bytes_in` to it.

    `failed` connections never came about; `why` is the last one's reason. `cut_off`: the last try
    failed for a reason of the network (no route, no answer), not of the host's own (refused).
    """

    host: str
    port: int
    connections: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    failed: int = 0
    why: str = ""
    cut_off: bool = False


class RefusedSeen(Value):
    """What a pod tried and was not let: `to` a host or an address, `how` it was tried."""

    to: str
    port: int | None = None
    how: RefusedAs
    count: int = 1


class DnsSeen(Value):
    """A name that was asked for in vain. `cut_off`: the last time it failed by the network."""

    name: str
    fault: DnsFault
    count: int = 1
    cut_off: bool = False


class EgressSeen(Value):
    """Everything that a pod did through its way out, in lists that are cut short: `more_…` counts
    what did not fit.

    `probe` is what was tried from inside the pod before anything ran there. `lost` says how the
    way itself broke; what is counted then ends there.
    """

    hosts: tuple[HostSeen, ...] = ()
    refused: tuple[RefusedSeen, ...] = ()
    dns: tuple[DnsSeen, ...] = ()
    more_connections: int = 0
    more_refused: int = 0
    more_dns: int = 0
    probe: dict[str, str] = Field(default_factory=dict)
    lost: str = ""

    @property
    def contacted(self) -> int:
        """Different hosts that were reached, beside the gateway."""
        return len({seen.host for seen in self.hosts if seen.connections} - {GATEWAY})

    @property
    def connections(self) -> int:
        """Connections that came about."""
        return self.more_connections + sum(seen.connections for seen in self.hosts)

    @property
    def refusals(self) -> int:
        """Attempts that were not let, names among them."""
        names = sum(seen.count for seen in self.dns if seen.fault == "forbidden")
        return self.more_refused + names + sum(seen.count for seen in self.refused)

    @property
    def dns_failures(self) -> int:
        """Questions for allowed names that got no address."""
        return self.more_dns + sum(s.count for s in self.dns if s.fault != "forbidden")

    @property
    def cut_off(self) -> tuple[str, ...]:
        """Allowed hosts whose last try failed for a reason of the network, in words."""
        hosts = [f"{s.host} port {s.port}: {s.why}" for s in self.hosts if s.cut_off]
        return (*hosts, *(f"{s.name}: {s.fault}" for s in self.dns if s.cut_off))
