"""One connection of a pod, carried to its host and counted."""

import asyncio
import errno
import os
import socket
import struct
from collections.abc import Sequence
from ipaddress import ip_address

from .greeting import Greeting
from .tally import Way

PIECE_BYTES = 64 * 1024
DIAL_WITHIN_S = 10.0
MOST_DIALS = 3
AFTER_ITS_END_S = 60.0  # how long a pod may keep a connection that its host has ended
RESET = struct.pack("ii", 1, 0)
SAID = b"this host is not on the pod's allow-list\n"
FORBIDDEN = (
    b"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(SAID), SAID)
)


async def dial(addresses: Sequence[str], port: int) -> socket.socket:
    """A connection to the first address that answers.

    Raises:
        OSError: none does; the last one's reason.
    """
    loop = asyncio.get_running_loop()
    last: OSError = OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    for address in addresses[:MOST_DIALS]:
        family = socket.AF_INET if ip_address(address).version == 4 else socket.AF_INET6
        made = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            async with asyncio.timeout(DIAL_WITHIN_S):
                await loop.sock_connect(made, (address, port))
        except OSError as error:  # a TimeoutError is one
            made.close()
            last = error
        except BaseException:
            made.close()
            raise
        else:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise last


def words_of(error: OSError) -> str:
    """Why a host was not reached."""
    if isinstance(error, TimeoutError):
        return f"no answer within {DIAL_WITHIN_S:g} s"
    return os.strerror(error.errno) if error.errno else str(error)


def reset(pod: socket.socket) -> None:
    """End a connection as one that was never meant to be."""
    try:
        pod.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    finally:
        pod.close()


async def carry(
    pod: socket.socket, host: socket.socket, way: Way, greeting: Greeting | None, said: bytes
) -> None:
    """Carry both ways until both have ended.

    Args:
        greeting: what the pod says first is looked at by this before any of it is sent on.
        said: what the pod has said already.
    Raises:
        Refuse: the pod means another host. OSError: either end broke off.
    """
    out = asyncio.create_task(_out(pod, host, way, greeting, said))
    back = asyncio.create_task(_back(host, pod, way))
    try:
        done, _ = await asyncio.wait((out, back), return_when=asyncio.FIRST_COMPLETED)
        for ended in done:
            ended.result()
        if out in done:
            await back
        else:
            async with asyncio.timeout(AFTER_ITS_END_S):
                await out
    except TimeoutError:
        pass
    finally:
        for task in (out, back):
            task.cancel()
        await asyncio.gather(out, back, return_exceptions=True)


async def _out(
    pod: socket.socket, host: socket.socket, way: Way, greeting: Greeting | None, said: bytes
) -> None:
    loop, buffer = asyncio.get_running_loop(), bytearray(PIECE_BYTES)
    view = memoryview(buffer)
    size = len(said)
    piece: bytes | memoryview = said
    while True:
        if size:
            if greeting is not None:
                ready = greeting.take(bytes(piece))
                greeting = None if ready is not None else greeting
                piece = ready or b""
            way.bytes_out += len(piece)
            await loop.sock_sendall(host, piece)
        size = await loop.sock_recv_into(pod, buffer)
        if not size:
            break
        piece = view[:size]
    host.shutdown(socket.SHUT_WR)


async def _back(host: socket.socket, pod: socket.socket, way: Way) -> None:
    loop, buffer = asyncio.get_running_loop(), bytearray(PIECE_BYTES)
    view = memoryview(buffer)
    while size := await loop.sock_recv_into(host, buffer):
        way.bytes_in += size
        await loop.sock_sendall(pod, view[:size])
    pod.shutdown(socket.SHUT_WR)
