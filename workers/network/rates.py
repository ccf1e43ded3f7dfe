"""How fast a pod's link is, measured through it from the pod's own network."""

import json
import socket
import time
from dataclasses import dataclass

from ...models.errors import StartFailed
from .namespace import within
from .peer import PATTERN
from .shaping import BITS, MEGA, burst_bytes

WINDOW_S = 0.4  # of a measurement at a cap
LEAST_BYTES = 30_000  # twenty packets
UNLIMITED_BYTES = 16 << 20
PATIENCE_S = 10.0
PIECE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Rates:
    """Payload that came through, megabits per second: to the pod, and from it."""

    down_mbps: float
    up_mbps: float


def measure(pid: int, address: tuple[str, int], cap_mbps: float | None) -> Rates:
    """Fetch from the node's server and send to it, in the network of a process.

    About half a second each way at a cap; what a cap lets pass at once is left out of the count.

    Args:
        cap_mbps: what the rate should be; None: unlimited, measured on 16 MiB.
    Raises:
        StartFailed: the server cannot be reached through the link.
    """
    skip, amount = _amounts(cap_mbps)
    try:
        return within(pid, lambda: Rates(_down(address, skip, amount), _up(address, skip, amount)))
    except (OSError, ValueError) as error:
        raise StartFailed(
            f"the link of the pod does not carry to this node at {address[0]} port {address[1]}: "
            f"{error}; a firewall of this machine may stand between"
        ) from error


def _amounts(cap_mbps: float | None) -> tuple[int, int]:
    """(bytes to leave out at the beginning, bytes to time)."""
    if cap_mbps is None:
        return PIECE_BYTES, UNLIMITED_BYTES
    window = round(cap_mbps * MEGA / BITS * WINDOW_S)
    return 2 * burst_bytes(cap_mbps), max(LEAST_BYTES, window)


def _down(address: tuple[str, int], skip: int, amount: int) -> float:
    with socket.create_connection(address, PATIENCE_S) as link:
        link.sendall(b"GET /bytes/%d HTTP/1.0\r\n\r\n" % (skip + amount))
        total, left_out, since = 0, 0, 0.0
        while piece := link.recv(PIECE_BYTES):
            total, until = total + len(piece), time.monotonic()
            if not left_out and total >= skip:
                left_out, since = total, until
    return _mbps(total - left_out, until - since) if left_out else _mbps(0, 0)


def _up(address: tuple[str, int], skip: int, amount: int) -> float:
    with socket.create_connection(address, PATIENCE_S) as link:
        link.sendall(b"POST /bytes?skip=%d HTTP/1.0\r\n\r\n" % skip)
        left = skip + amount
        while left > 0:
            piece = PATTERN[: min(left, PIECE_BYTES)]
            link.sendall(piece)
            left -= len(piece)
        link.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: link.recv(PIECE_BYTES), b""))
    told = json.loads(answer.partition(b"\r\n\r\n")[2])
    return _mbps(told["bytes"], told["seconds"])


def _mbps(amount_bytes: int, seconds: float) -> float:
    if amount_bytes <= 0 or seconds <= 0:
        raise ValueError(f"{amount_bytes} bytes in {seconds:.3g} s are no measurement")
    return amount_bytes * BITS / MEGA / seconds
