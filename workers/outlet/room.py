"""One pod's way out: its names, its connections, and what it tried in vain."""

import asyncio
import contextlib
import socket
from collections.abc import Coroutine
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address
from typing import Any

from ...models.allow import AllowList, plain
from ...models.egress_seen import GATEWAY, NETWORK_FAULTS, EgressSeen, RefusedAs
from . import sniff
from .greeting import Greeting, Refuse
from .looking_up import LookUp, Unresolved
from .naming import Naming
from .places import DNS_PORT, NAMES, NODE, POD, PROBE_NAME, PROXY_PORT, Door
from .proxy_head import ESTABLISHED, asked_of
from .relay import FORBIDDEN, carry, dial, reset, words_of
from .tally import Tally

MOST_CONNECTIONS, MOST_QUESTIONS = 256, 64  # of one pod at one time
PACKETS_AT_ONCE = 64
HEAD_WITHIN_S = 10.0
REACHED = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Target:
    """A host that may be reached: by its name, or by one address (`addresses`). `pinned`: ours,
    so that what is said to it need not be looked at."""

    host: str
    port: int
    addresses: tuple[str, ...] = ()
    pinned: bool = False


class Room:
    """What one pod may reach, and what it did. Lives in one event loop.

    Args:
        dns, heard, refusing: sockets at this node's end of the pod's link: for names, for packets
            that may lead nowhere, and for telling so.
        listeners: listen there on every port that may lead anywhere.
    """

    def __init__(
        self,
        allow: AllowList,
        door: Door | None,
        look_up: LookUp,
        dns: socket.socket,
        heard: socket.socket,
        refusing: socket.socket,
        listeners: list[socket.socket],
    ) -> None:
        self._allow, self._door, self._look_up = allow, door, look_up
        self._dns, self._heard, self._listeners = dns, heard, listeners
        self._refusing = refusing
        self._ports = frozenset(one.getsockname()[1] for one in listeners)
        self.tally = Tally()
        self._naming = Naming(allow, door, look_up, self.tally)
        self._tasks: set[asyncio.Task[None]] = set()
        self._questions: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(dns, self._asked)
        self._loop.add_reader(heard, self._hear)
        for listener in listeners:
            self._loop.add_reader(listener, self._accept, listener)

    def seen(self) -> EgressSeen:
        """What was counted until now."""
        self._hear()
        return self.tally.seen()

    def begin(self) -> None:
        """Forget what was counted: the pod's own doing begins now."""
        self._hear()
        self.tally.forget()

    def close(self) -> None:
        """Close everything; nothing of the pod's goes on."""
        for one in (self._dns, self._heard, *self._listeners):
            self._loop.remove_reader(one)
            one.close()
        self._refusing.close()
        for task in (*self._tasks, *self._questions):
            task.cancel()

    def _do(self, work: Coroutine[Any, Any, None], among: set[asyncio.Task[None]]) -> None:
        task = self._loop.create_task(work)
        among.add(task)
        task.add_done_callback(among.discard)

    # --- what leads nowhere ---

    def _hear(self) -> None:
        for _ in range(PACKETS_AT_ONCE):
            try:
                packet = self._heard.recv(sniff.LONGEST)
            except OSError:
                return
            tried = sniff.read(packet)
            if tried is not None and not self._is_let_in(tried):
                self.tally.refuse(self._naming.names.text(tried.to), tried.port, tried.how)
                with contextlib.suppress(OSError):  # the pod may be gone
                    self._refusing.sendto(sniff.refusal(packet), (str(POD), 0))

    def _is_let_in(self, tried: sniff.Tried) -> bool:
        """Whether a packet is answered at this end: by a listener, which judges it, or a ping."""
        ours = tried.to == NODE or tried.to in NAMES or self._allow.address(tried.to)
        if tried.how == "tcp":
            return ours and tried.port in self._ports
        if tried.how == "udp":
            return tried.to == NODE and tried.port == DNS_PORT
        return ours or tried.to.is_multicast

    # --- names ---

    def _asked(self) -> None:
        try:
            message, pod = self._dns.recvfrom(sniff.LONGEST)
        except OSError:
            return
        if len(self._questions) < MOST_QUESTIONS:  # beyond that, who asks will ask again
            self._do(self._tell(message, pod), self._questions)

    async def _tell(self, message: bytes, pod: tuple[str, int]) -> None:
        answer = await self._naming.answer(message)
        if answer:
            with contextlib.suppress(OSError):  # the pod may be gone
                self._dns.sendto(answer, pod)

    # --- connections ---

    def _accept(self, listener: socket.socket) -> None:
        try:
            pod, _ = listener.accept()
            pod.setblocking(False)
            where, port = pod.getsockname()
        except OSError:
            return
        if len(self._tasks) >= MOST_CONNECTIONS:
            self.tally.refuse(self._naming.names.text(IPv4Address(where)), port, "too many")
            reset(pod)
            return
        self._do(self._serve(pod, IPv4Address(where), port), self._tasks)

    async def _serve(self, pod: socket.socket, where: IPv4Address, port: int) -> None:
        try:
            await self._meet(pod, where, port)
        except Refuse as refused:
            how: RefusedAs = refused.how  # type: ignore[assignment]
            self.tally.refuse(refused.to or self._naming.names.text(where), port, how)
            if how != "host header":  # that one was told, in words that a reset would take back
                reset(pod)
        except OSError:
            reset(pod)
        finally:
            pod.close()

    async def _meet(self, pod: socket.socket, where: IPv4Address, port: int) -> None:
        if where == NODE:
            await self._at_this_node(pod, port)
            return
        name = self._naming.names.name(where)
        if name == PROBE_NAME:
            await self._loop.sock_sendall(pod, REACHED)
            return
        target = self._target(name or str(where), port)
        await self._lead(pod, target)

    async def _at_this_node(self, pod: socket.socket, port: int) -> None:
        door = self._door
        if door is not None and not door.named and port == door.port:
            await self._lead(pod, Target(door.host, port, pinned=True))
        elif port == DNS_PORT:
            await self._answer_stream(pod)
        elif port == PROXY_PORT:
            await self._proxy(pod)
        else:
            raise Refuse("tcp", str(NODE))

    def _target(self, host: str, port: int) -> Target:
        """Raises Refuse."""
        try:
            address = ip_address(host)
        except ValueError:
            name = plain(host)
            if self._naming.is_door(name, port):
                return Target(name, port, pinned=True)
            if name and self._allow.name(name, port):
                return Target(name, port)
        else:
            if isinstance(address, IPv4Address) and self._allow.address(address, port):
                return Target(str(address), port, (str(address),))
        raise Refuse("tcp", host)

    async def _lead(
        self, pod: socket.socket, target: Target, said: bytes = b"", first: bytes = b""
    ) -> None:
        """Carry a connection to its host. `said`: by the pod already; `first`: to be said to it."""
        host = await self._reach(target)
        plainly = target.pinned or target.addresses
        greeting = None if plainly else Greeting(target.host, target.port)
        way = self.tally.way(_label(target), target.port)
        try:
            if first:
                await self._loop.sock_sendall(pod, first)
            await carry(pod, host, way, greeting, said)
        except Refuse as refused:
            if refused.how == "host header":
                await self._loop.sock_sendall(pod, FORBIDDEN)
            raise
        finally:
            host.close()

    async def _reach(self, target: Target) -> socket.socket:
        """Raises OSError, which is counted."""
        way = self.tally.way(_label(target), target.port)
        try:
            host = await dial(
                target.addresses
                or await self._look_up.addresses(target.host, may_lead_here=target.pinned),
                target.port,
            )
        except Unresolved as error:
            way.missed(error.fault, cut_off=error.fault in NETWORK_FAULTS)
            raise OSError(error.fault) from error
        except OSError as error:
            refused = isinstance(error, ConnectionRefusedError)
            way.missed(words_of(error), cut_off=not refused)
            raise
        way.reached()
        return host

    # --- programs that ask for a proxy, and names over TCP ---

    async def _proxy(self, pod: socket.socket) -> None:
        async with asyncio.timeout(HEAD_WITHIN_S):
            asked = await asked_of(pod)
        try:
            target = self._target(asked.host, asked.port)
        except Refuse:
            await self._loop.sock_sendall(pod, FORBIDDEN)
            self.tally.refuse(asked.host, asked.port, "tcp")
            return
        await self._lead(pod, target, asked.said, ESTABLISHED if asked.tunnel else b"")

    async def _answer_stream(self, pod: socket.socket) -> None:
        async with asyncio.timeout(HEAD_WITHIN_S):
            size = int.from_bytes(await _exactly(pod, 2))
            answer = await self._naming.answer(await _exactly(pod, size))
        await self._loop.sock_sendall(pod, len(answer).to_bytes(2) + answer)


def _label(target: Target) -> str:
    return GATEWAY if target.pinned else target.host


async def _exactly(pod: socket.socket, size: int) -> bytes:
    loop, held = asyncio.get_running_loop(), b""
    while len(held) < size:
        piece = await loop.sock_recv(pod, size - len(held))
        if not piece:
            raise ConnectionResetError
        held += piece
    return held
