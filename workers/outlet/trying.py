"""An outlet tried out from inside its pod, before anything else happens there.

Nothing is sent beyond this node: the allowed name and the forbidden one are of our own making, and
the forbidden address is this node's.
"""

import socket
from functools import partial
from ipaddress import IPv4Address

from ...models.errors import StartFailed
from ..network.iproute import asked
from ..network.namespace import within
from . import question
from .places import DNS_PORT, FORBIDDEN_NAME, NODE, PROBE_NAME, PROXY_PORT, Door

WITHIN_S = 10.0
REFUSED_WITHIN_S = 2.0
GATEWAY_PATH = "/infranoise/health"


def try_out(pid: int, door: Door | None) -> dict[str, str]:
    """Try an outlet in the network of a process; what was found, in words.

    Raises:
        StartFailed: it leads where it must not, or does not lead where it must.
    """
    here = node_address()
    with canary_at(here) as canary:
        forbidden = None if here is None else canary.getsockname()
        try:
            return within(pid, partial(_tried, door, forbidden))
        except OSError as error:
            raise StartFailed(f"its network cannot be entered: {error}") from error


def node_address() -> str | None:
    """An address of this machine that others could reach; None where it has none."""
    for device in asked("ip", "-4", "addr", "show", "up", "scope", "global"):
        for row in device.get("addr_info", ()):
            return str(row["local"])
    return None


def canary_at(address: str | None) -> socket.socket:
    """A listener at this node that no pod may reach."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if address is not None:
        made.bind((address, 0))
        made.listen(1)
    return made


def _tried(door: Door | None, forbidden: tuple[str, int] | None) -> dict[str, str]:
    found = {"an allowed name": _allowed(), "a forbidden name": _forbidden_name()}
    if forbidden is not None:
        found["a port of this node"] = try_port(forbidden)
    if door is not None:
        found["the gateway"] = _gateway(door)
    return found


def _allowed() -> str:
    address = _looked_up(PROBE_NAME)
    if address is None:
        raise StartFailed(
            "the pod gets no address for an allowed name", egress_tried="an allowed name"
        )
    answer = _said((str(address), PROXY_PORT), b"GET / HTTP/1.1\r\n\r\n")
    if answer is None or not answer.startswith(b"HTTP/1.1 204"):
        raise StartFailed("the pod does not reach an allowed host", egress_tried="an allowed name")
    return "reached"


def _forbidden_name() -> str:
    if _looked_up(FORBIDDEN_NAME) is not None:
        raise StartFailed(
            "the pod gets an address for a forbidden name", egress_tried="a forbidden name"
        )
    return "has no address"


def try_port(address: tuple[str, int]) -> str:
    """Try to reach what must not be reached; how it was not.

    Raises:
        StartFailed: it was.
    """
    try:
        socket.create_connection(address, REFUSED_WITHIN_S).close()
    except OSError as error:
        return f"not reached: {error.strerror or error}"
    raise StartFailed(
        f"the pod reaches port {address[1]} of this node at {address[0]}, though only the gateway "
        "and the allow-list may be reached",
        egress_tried="a port of this node",
    )


def _gateway(door: Door) -> str:
    address = _looked_up(door.host) if door.named else NODE
    request = f"GET {GATEWAY_PATH} HTTP/1.1\r\nHost: {door.host}\r\nConnection: close\r\n\r\n"
    # A server of TLS may hang up at this without a word; then it was reached, too.
    if address is None or _said((str(address), door.port), request.encode()) is None:
        raise StartFailed(
            f"the pod does not reach the gateway at {door.host} port {door.port}; see that this "
            "node does",
            egress_tried="the gateway",
        )
    return "reached"


def _looked_up(name: str) -> IPv4Address | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(WITHIN_S)
        try:
            asking.connect((str(NODE), DNS_PORT))
            asking.send(question.asking(name))
            return question.address_in(asking.recv(512))
        except OSError as error:
            raise StartFailed(f"nobody answers the pod's questions for names: {error}") from error


def _said(address: tuple[str, int], request: bytes) -> bytes | None:
    """What a server says first; None where it was not reached: the outlet resets the connection."""
    try:
        with socket.create_connection(address, WITHIN_S) as way:
            way.sendall(request)
            return way.recv(64)
    except OSError:
        return None
