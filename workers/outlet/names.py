"""Names of hosts and the addresses that stand for them in one pod's network."""

from dataclasses import dataclass, field
from ipaddress import IPv4Address

from .places import NAMES

MOST = 4096


@dataclass(slots=True)
class Names:
    """Each name that was asked for has an address of its own, so that a connection tells, in any
    protocol, whom it is for."""

    _addresses: dict[str, IPv4Address] = field(default_factory=dict)
    _names: dict[IPv4Address, str] = field(default_factory=dict)

    def address(self, name: str) -> IPv4Address | None:
        """The address of a name, given now if need be; None: there are too many names."""
        if name not in self._addresses:
            if len(self._addresses) >= MOST:
                return None
            given = NAMES[len(self._addresses) + 1]
            self._addresses[name], self._names[given] = given, name
        return self._addresses[name]

    def name(self, address: IPv4Address) -> str | None:
        """The name that an address stands for; None: none."""
        return self._names.get(address)

    def text(self, address: IPv4Address) -> str:
        """The name that an address stands for, else the address itself."""
        return self._names.get(address, str(address))
