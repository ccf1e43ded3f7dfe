"""What a program asks of an HTTP proxy: a tunnel (CONNECT), or one request with a whole URL."""

import asyncio
import re
import socket
from dataclasses import dataclass

from .greeting import END, END_OF_HEAD, LONGEST_HEAD, Refuse

ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
CONNECT = re.compile(rb"CONNECT (?P<host>[^\s:/@]+):(?P<port>\d{1,5}) HTTP/1\.[01]\r?")
REQUEST = re.compile(
    rb"[A-Z-]+ http://(?P<host>[^\s:/?#@]+)(?::(?P<port>\d{1,5}))?(?:[/?#]\S*)? HTTP/1\.[01]\r?",
    re.IGNORECASE,
)
PIECE_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom a program asks for. `said`: what it has said that is for the host."""

    host: str
    port: int
    tunnel: bool
    said: bytes


async def asked_of(pod: socket.socket) -> Asked:
    """Read what a program asks first.

    Raises:
        Refuse: it asks nothing that is known here. OSError: it has gone.
    """
    loop, taken, end = asyncio.get_running_loop(), bytearray(), None
    while end is None:
        piece = await loop.sock_recv(pod, PIECE_BYTES)
        if not piece:
            raise ConnectionResetError
        taken += piece
        end = END.search(taken, max(0, len(taken) - len(piece) - len(END_OF_HEAD)))
        if len(taken) > LONGEST_HEAD:
            raise Refuse("malformed")
    held = bytes(taken)
    line = held.partition(b"\n")[0]
    for kind, tunnel in ((CONNECT, True), (REQUEST, False)):
        if found := kind.fullmatch(line):
            port = int(found["port"] or 80)
            host = found["host"].decode("latin-1")
            return Asked(host, port, tunnel, held[end.end() :] if tunnel else held)
    raise Refuse("malformed")
