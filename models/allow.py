"""What pods may reach beside the gateway: names, names below a name, addresses; each with ports.

"host"          that name, at ports 80 and 443          "host:8443"    at that port alone
"*.host"        every name below it, not itself         "*.host:8443"
"192.0.2.0/24"  those addresses (IPv4)                  "192.0.2.7:5432"
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_network

WEB_PORTS = (80, 443)
MOST_PORTS, MOST_ENTRIES = 32, 256
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
LONGEST_NAME = 253
OURS = IPv4Network("198.18.0.0/15")
"""RFC 2544's range for tests, nobody's on the internet: a pod's link and its names lie there."""
NEVER = {
    IPv4Network("0.0.0.0/8"): "no host",
    IPv4Network("127.0.0.0/8"): "the pod's own loopback",
    IPv4Network("169.254.0.0/16"): "link-local, where clouds keep a machine's credentials",
    IPv4Network("224.0.0.0/3"): "multicast and reserved",
    OURS: "used for the link of pods itself",
}


@dataclass(frozen=True, slots=True)
class Allowed:
    """One entry: a `host`, with `below` every name below it and not itself, or a `network`."""

    ports: tuple[int, ...]
    host: str = ""
    below: bool = False
    network: IPv4Network | None = None

    def names(self, name: str) -> bool:
        """Whether it is about a name, which is plain (see `plain`)."""
        if not self.host:
            return False
        return name.endswith("." + self.host) if self.below else name == self.host


@dataclass(frozen=True)
class AllowList:
    """Every entry of a list. What it does not name is forbidden."""

    entries: tuple[Allowed, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "AllowList":
        """The list of an experiment file.

        Raises:
            ValueError: an entry is none, or there are too many of them or of their ports.
        """
        entries = tuple(allowed(text) for text in texts)
        found = cls(entries)
        if len(entries) > MOST_ENTRIES or len(found.ports) > MOST_PORTS:
            raise ValueError(
                f"allow has {len(entries)} entries with {len(found.ports)} different ports; at "
                f"most {MOST_ENTRIES} with {MOST_PORTS} can be watched over"
            )
        return found

    @cached_property
    def ports(self) -> tuple[int, ...]:
        """Every port that some entry names."""
        return tuple(sorted({port for entry in self.entries for port in entry.ports}))

    @property
    def networks(self) -> tuple[IPv4Network, ...]:
        """Every network that some entry names."""
        return tuple({entry.network: None for entry in self.entries if entry.network})

    def name(self, name: str, port: int | None = None) -> bool:
        """Whether a plain name may be reached, at a port or at any."""
        return any(e.names(name) and (port is None or port in e.ports) for e in self.entries)

    def address(self, address: IPv4Address, port: int | None = None) -> bool:
        """Whether an address may be reached as such, at a port or at any."""
        return any(
            e.network is not None and address in e.network and (port is None or port in e.ports)
            for e in self.entries
        )


def plain(name: str) -> str:
    """A host's name as lists write it: small letters, no dot at its end; "" where it is none.

    >>> plain("Example.ORG."), plain("a..b"), plain("a/../b")
    ('example.org', '', '')
    """
    text = name.lower().removesuffix(".")
    labels = text.split(".")
    valid = len(text) <= LONGEST_NAME and all(LABEL.fullmatch(label) for label in labels)
    return text if valid and not labels[-1].isdecimal() else ""


def allowed(text: str) -> Allowed:
    """One entry of a list.

    >>> allowed("*.example.org:8443")
    Allowed(ports=(8443,), host='example.org', below=True, network=None)

    Raises:
        ValueError: what is wrong with it, and how to write it.
    """
    if "://" in text:
        raise ValueError(f'allow = "{text}": write the host alone, without https:// and a path')
    where, colon, port = text.strip().rpartition(":")
    if not colon:
        where, port = port, ""
    if ":" in where or text.count(":") > 1:
        raise ValueError(f'allow = "{text}": pods have IPv4 alone; write a name or an IPv4 address')
    ports = _ports(text, port) if colon else WEB_PORTS
    if re.fullmatch(r"[\d.]+(/.*)?", where):
        return Allowed(ports, network=_network(text, where))
    return _host(text, where, ports)


def _ports(text: str, port: str) -> tuple[int, ...]:
    if not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
        raise ValueError(f'allow = "{text}": a port is a number from 1 to 65535')
    return (int(port),)


def _host(text: str, where: str, ports: tuple[int, ...]) -> Allowed:
    below = where.startswith("*.")
    if where in ("*", "*."):
        raise ValueError(f'allow = "{text}" allows everything: that is network = "public"')
    name = plain(where.removeprefix("*."))
    if not name:
        raise ValueError(
            f'allow = "{text}" is no host; write "host", "host:port", "*.host" (all names below) '
            'or "192.0.2.0/24"'
        )
    if name == "localhost" or name.endswith(".localhost"):
        raise ValueError(f'allow = "{text}" is the pod itself, which needs no leave')
    return Allowed(ports, host=name, below=below)


def _network(text: str, where: str) -> IPv4Network:
    try:
        found: IPv4Network | IPv6Network = ip_network(where)
    except ValueError as error:
        raise ValueError(f'allow = "{text}": {error}') from error
    assert isinstance(found, IPv4Network)
    for never, what in NEVER.items():
        if found.overlaps(never):
            raise ValueError(f'allow = "{text}" holds {never}, {what}; name smaller networks')
    return found
