"""Connections to providers: kept for a while when free, made where none is."""

import asyncio
import ssl
from collections.abc import Iterator
from functools import cache
from socket import SOCK_STREAM
from typing import NamedTuple
from urllib.parse import urlsplit

from aiohappyeyeballs import start_connection

from .line import Broken, Line

KEEP_S = 10.0  # shorter than any provider's: a connection that it closed is not tried
CONNECT_S = 20.0
SECOND_FAMILY_AFTER_S = 0.25
PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """Where a provider listens."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """What the header `host` says.

        >>> Origin("https", "::1", 443).authority
        '[::1]'
        """
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


@cache
def origin_of(url: str) -> tuple[Origin, str]:
    """A base URL's origin, and the path that it puts before every other.

    >>> origin_of("https://api.example.com/v1/")
    (Origin(scheme='https', host='api.example.com', port=443), '/v1')
    """
    parts = urlsplit(url)
    port = parts.port or PORTS[parts.scheme]
    return Origin(parts.scheme, parts.hostname or "", port), parts.path.rstrip("/")


class Lines:
    """All connections of one gateway."""

    def __init__(self) -> None:
        self._free: dict[Origin, list[Line]] = {}
        self._tls: ssl.SSLContext | None = None

    async def line(self, origin: Origin) -> Line:
        """A connection that is free, the one last used first; else a new one.

        Raises:
            Broken: nobody answers there.
        """
        free, now = self._free.get(origin, []), asyncio.get_running_loop().time()
        while free:
            line = free.pop()
            if line.usable and now - line.idle_since < KEEP_S:
                return line
            line.close()
        try:
            async with asyncio.timeout(CONNECT_S):
                return await self._new(origin)
        except (OSError, ValueError) as error:  # a name that is none is a ValueError
            raise Broken("unreachable", type(error).__name__) from error

    def give_back(self, origin: Origin, line: Line) -> None:
        """A connection is free again, if it still is one."""
        if line.usable:
            self._free.setdefault(origin, []).append(line)

    def sweep(self) -> None:
        """Close what was not used for long."""
        before = asyncio.get_running_loop().time() - KEEP_S
        for origin, free in list(self._free.items()):
            kept = [line for line in free if line.usable and line.idle_since > before]
            for line in set(free) - set(kept):
                line.close()
            if kept:
                self._free[origin] = kept
            else:
                del self._free[origin]

    def close(self) -> None:
        """Close all that are free."""
        for line in self._all():
            line.close()
        self._free.clear()

    def _all(self) -> Iterator[Line]:
        for free in self._free.values():
            yield from free

    async def _new(self, origin: Origin) -> Line:
        """A connection to the first of the host's addresses that takes one."""
        loop = asyncio.get_running_loop()
        places = await loop.getaddrinfo(origin.host, origin.port, type=SOCK_STREAM)
        tls = self._context() if origin.scheme == "https" else None
        name = origin.host if tls else None
        if len(places) == 1:
            host, port = places[0][4][:2]
            _, line = await loop.create_connection(
                Line, str(host), int(port), ssl=tls, server_hostname=name
            )
            return line
        socket = await start_connection(places, happy_eyeballs_delay=SECOND_FAMILY_AFTER_S)
        _, line = await loop.create_connection(Line, sock=socket, ssl=tls, server_hostname=name)
        return line

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls
