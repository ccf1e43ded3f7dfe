"""Where things are in a pod's network: its end, ours, and what its names stand for.

198.18.0.1          this node's end: names (port 53), a proxy, the gateway
198.18.0.2          the pod
198.19.0.0/16       names: each that is asked for gets an address of its own
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address
from urllib.parse import urlsplit

NODE = IPv4Address("198.18.0.1")
POD = IPv4Address("198.18.0.2")
NAMES = IPv4Network("198.19.0.0/16")
DNS_PORT, PROXY_PORT = 53, 3128
PROBE_NAME = "probe.outlet.infranoise.invalid"
FORBIDDEN_NAME = "forbidden.outlet.infranoise.invalid"
PROXY_URL = f"http://{NODE}:{PROXY_PORT}"
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Door:
    """The gateway as this node finds it: `host` is a name or an address."""

    host: str
    port: int

    @property
    def named(self) -> bool:
        """Whether pods find it by its name; else at this node's end of their link."""
        return not _is_address(self.host) and self.host != "localhost"


def door_of(url: str) -> Door | None:
    """Where a gateway's URL leads; None for "".

    >>> door_of("https://home.example/x")
    Door(host='home.example', port=443)
    """
    if not url:
        return None
    parts = urlsplit(url)
    return Door(parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 80))


def in_pod(url: str) -> str:
    """A gateway's URL as pods with an outlet find it: by its name, else at the node's end.

    >>> in_pod("http://127.0.0.1:8484"), in_pod("http://home:8484")
    ('http://198.18.0.1:8484', 'http://home:8484')
    """
    door = door_of(url)
    if door is None or door.named:
        return url
    return urlsplit(url)._replace(netloc=f"{NODE}:{door.port}").geturl()


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
