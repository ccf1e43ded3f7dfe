"""One gateway process: it listens, relays, and stops when told to."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from threading import Thread

import aiohttp
import uvloop
from aiohttp import web
from redis.exceptions import RedisError

from ..models.api_token import Seal
from ..models.errors import BrokerError, GatewayError
from .books import Books
from .relay import LARGEST_BODY_BYTES, Relay
from .upstream import Upstream

KEEPALIVE_S = 10.0  # shorter than any provider's: a connection that it closed is not tried
GRACE_S = 10.0
COLLECT_AFTER = 20_000  # objects more than before


@dataclass(frozen=True, slots=True)
class Place:
    """Where a gateway listens: addresses of this machine, one port (0: any that is free)."""

    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 0


@dataclass(frozen=True, slots=True)
class Duty:
    """What one gateway does."""

    place: Place
    seal: Seal
    broker: str
    upstreams: Mapping[str, Upstream]
    content: Callable[[str, bytes, bytes], None] | None = None


def serve(
    duty: Duty, ready: Callable[[int], None], stop: Callable[[], object] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT, or until `stop` returns.

    Args:
        ready: told the port once it listens.
        stop: waits in a thread of its own for the end.
    Raises:
        GatewayError: it cannot listen there. BrokerError: the queue server does not answer.
    """
    _rarely_collect()
    uvloop.run(_serve(duty, ready, stop))


def _rarely_collect() -> None:
    """What is imported stays, and a call leaves few circles behind: look for them seldom."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)


async def _serve(
    duty: Duty, ready: Callable[[int], None], stop: Callable[[], object] | None
) -> None:
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    async with gateway(duty) as port:
        ready(port)
        if stop is not None:
            Thread(target=_then, args=(stop, loop, over), daemon=True, name="stop").start()
        await over.wait()


def _then(wait: Callable[[], object], loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    wait()
    with suppress(RuntimeError):  # the loop has ended before
        loop.call_soon_threadsafe(over.set)


@asynccontextmanager
async def gateway(duty: Duty) -> AsyncIterator[int]:
    """A gateway that serves while inside; gives its port.

    Raises:
        GatewayError, BrokerError: as `serve`.
    """
    books = Books(duty.broker)
    try:
        await books.check()
    except RedisError as error:
        await books.close()
        raise BrokerError(f"the queue server does not answer: {error}") from error
    async with _session() as session:
        relay = Relay(duty.seal, duty.upstreams, books, session, duty.content)
        runner = web.ServerRunner(_server(relay), shutdown_timeout=GRACE_S)
        await runner.setup()
        sweep = asyncio.create_task(relay.sweep())
        try:
            yield await _listen(runner, duty.place)
        finally:
            sweep.cancel()
            with suppress(asyncio.CancelledError):
                await sweep
            await runner.cleanup()
            await relay.settled()
            await books.close()


def _session() -> aiohttp.ClientSession:
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE_S)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
    )


def _server(relay: Relay) -> web.Server:
    request = partial(
        web.BaseRequest, loop=asyncio.get_running_loop(), client_max_size=LARGEST_BODY_BYTES
    )
    return web.Server(
        relay.handle,
        request_factory=request,
        handler_cancellation=True,
        access_log=None,
        logger=logging.getLogger(__name__),
    )


async def _listen(runner: web.ServerRunner, place: Place) -> int:
    port = place.port
    for host in place.hosts:
        site = web.TCPSite(runner, host, port, backlog=1024)
        try:
            await site.start()
        except OSError as error:
            raise GatewayError(
                f"the gateway cannot listen on {host}:{port}: {error}; choose another --listen"
            ) from error
        port = port or _port_of(runner)
    return port


def _port_of(runner: web.ServerRunner) -> int:
    return int(runner.addresses[0][1])


def addresses(hosts: Sequence[str], port: int) -> tuple[str, ...]:
    """The URLs under which a gateway is reached.

    >>> addresses(["127.0.0.1", "::1"], 80)
    ('http://127.0.0.1:80', 'http://[::1]:80')
    """
    return tuple(f"http://[{h}]:{port}" if ":" in h else f"http://{h}:{port}" for h in hosts)
