"""The scheduler as a service: several may run, one leads, the others wait for their turn.

All state is in the ledger and in Redis. A scheduler that lost either, or the lead, drops what it
held in memory, waits, and begins again from the ledger; attempts under way go on meanwhile.
"""

import os
import platform
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from sqlalchemy import Engine

from ..models.alive import Alive
from ..models.errors import BrokerError, Deposed, LedgerError
from ..models.ledger.store import open_store
from ..models.ledger.writing import next_fence_at_least, take_lead
from .collect import Collector
from .leases import Leases
from .news import News
from .passes import Gateway
from .service import Service

LEAD_MS = 6_000  # a leader that is not heard of for so long has lost its lead
ASK_AGAIN_S = 1.0
TICK_S = 0.25
SHORTEST_WAIT_S, LONGEST_WAIT_S = 0.5, 5.0


class Say(Protocol):
    """Where a scheduler says what it does: a kind of event and its facts."""

    def __call__(self, event: str, /, **facts: str | int | float | None) -> None: ...


def token() -> str:
    """A name for one scheduler process, told apart from all others."""
    return f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"


@dataclass(slots=True)
class Home:
    """One scheduler process.

    Args:
        store: the ledger's address. broker: the queue server's.
        stop: set it, and `serve` steps down and returns.
        alive: touched while both servers answer.
        gateway: what attempts with a model are given a way to; None: there is none.
    """

    store: str
    broker: str
    stop: threading.Event
    say: Say
    alive: Alive = field(default_factory=Alive)
    token: str = field(default_factory=token)
    gateway: Gateway | None = None
    _waits_s: float = SHORTEST_WAIT_S

    def serve(self) -> None:
        """Lead when no other does, until `stop` is set. Outlives restarts of both servers."""
        while not self.stop.is_set():
            try:
                with self._connected() as ways:
                    self._serve(ways)
            except (BrokerError, LedgerError) as error:
                self._wait(error)
        self.say("stopped")

    def _serve(self, ways: "_Ways") -> None:
        waited_for = ""
        while not self.stop.is_set():
            lowest = next_fence_at_least(ways.engine)
            fence = ways.leases.lead(self.token, LEAD_MS, lowest)
            if fence:
                waited_for = ""
                try:
                    self._lead(ways, fence)
                except Deposed:  # Redis forgot more than the ledger: the next fence is higher
                    ways.leases.step_down(self.token)
                    raise
                continue
            leader = ways.leases.leader()
            if leader != waited_for:
                self.say("waits for the lead", leader=leader)
                waited_for = leader
            self._waits_s = SHORTEST_WAIT_S
            self.alive.touch()
            self.stop.wait(ASK_AGAIN_S)

    def _lead(self, ways: "_Ways", fence: int) -> None:
        """Work until the lead is lost or given up."""
        take_lead(ways.engine, fence)
        self.say("leads", scheduler=self.token, fence=fence)
        news = News(self.say)
        service = Service(
            ways.engine,
            ways.leases,
            ways.collector,
            tell=news.happened,
            fence=fence,
            gateway=self.gateway,
        )
        while not self.stop.is_set():
            if ways.leases.lead(self.token, LEAD_MS) != fence:
                self.say("lost the lead", fence=fence)
                return
            service.tick(TICK_S)
            self.alive.touch()
            news.look(service)
            self._waits_s = SHORTEST_WAIT_S
        ways.leases.step_down(self.token)
        self.say("stepped down", fence=fence)

    def _wait(self, error: BrokerError | LedgerError) -> None:
        event = "was deposed" if isinstance(error, Deposed) else "waits"
        self.say(event, seconds=self._waits_s, because=str(error))
        self.stop.wait(self._waits_s)
        self._waits_s = min(LONGEST_WAIT_S, 2 * self._waits_s)

    @contextmanager
    def _connected(self) -> Iterator["_Ways"]:
        engine = open_store(self.store)
        closing: list[Callable[[], None]] = [engine.dispose]
        try:
            leases, collector = Leases(self.broker), Collector(self.broker)
            closing += [leases.close, collector.close]
            yield _Ways(engine, leases, collector)
        finally:
            for close in reversed(closing):
                close()


@dataclass(frozen=True, slots=True)
class _Ways:
    """What leads to the ledger and to Redis."""

    engine: Engine
    leases: Leases
    collector: Collector
