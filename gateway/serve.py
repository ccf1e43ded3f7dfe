"""One gateway process: it listens, relays, and stops when told to."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from threading import Thread

import uvloop
from redis.exceptions import RedisError

from ..models.api_token import Seal
from ..models.errors import BrokerError, GatewayError
from .books import Books
from .front import Front
from .lines import Lines
from .relay import Relay
from .upstream import Upstream

GRACE_S = 10.0
LOOK_EVERY_S = 5.0
BACKLOG = 1024
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
    relay = Relay(duty.seal, duty.upstreams, books, Lines(), duty.content)
    fronts: set[Front] = set()
    servers: list[asyncio.Server] = []
    sweeps = [asyncio.create_task(relay.sweep()), asyncio.create_task(_close_idle(fronts))]
    try:
        yield await _listen(lambda: Front(relay.handle, fronts), duty.place, servers)
    finally:
        for server in servers:
            server.close()
        await _ended(fronts)
        for sweep in sweeps:
            sweep.cancel()
        await asyncio.wait(sweeps)
        relay.lines.close()
        await relay.settled()
        await books.close()


async def _close_idle(fronts: set[Front]) -> None:
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        now = asyncio.get_running_loop().time()
        for front in list(fronts):
            front.close_if_idle(now)


async def _ended(fronts: set[Front]) -> None:
    """Let calls under way end, for a while; then drop every connection."""
    if busy := [front.busy for front in fronts if front.busy is not None]:
        await asyncio.wait(busy, timeout=GRACE_S)
    left = [front.busy for front in fronts if front.busy is not None]
    for front in list(fronts):
        front.transport.abort()
    if left:
        await asyncio.wait(left, timeout=GRACE_S)


async def _listen(front: Callable[[], Front], place: Place, servers: list[asyncio.Server]) -> int:
    port, loop = place.port, asyncio.get_running_loop()
    for host in place.hosts:
        try:
            server = await loop.create_server(front, host, port, backlog=BACKLOG)
        except OSError as error:
            raise GatewayError(
                f"the gateway cannot listen on {host}:{port}: {error}; choose another --listen"
            ) from error
        servers.append(server)
        port = port or int(server.sockets[0].getsockname()[1])
    return port


def addresses(hosts: Sequence[str], port: int) -> tuple[str, ...]:
    """The URLs under which a gateway is reached.

    >>> addresses(["127.0.0.1", "::1"], 80)
    ('http://127.0.0.1:80', 'http://[::1]:80')
    """
    return tuple(f"http://[{h}]:{port}" if ":" in h else f"http://{h}:{port}" for h in hosts)
