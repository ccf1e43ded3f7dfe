"""One experiment with a worker of our own, from what is owed to nothing owed.

The ledger decides what is owed; the loop can be stopped at any moment and begun again.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Literal

from sqlalchemy import Engine

from ..models.errors import BrokerError
from ..models.ledger.attempts import abandon
from .collect import Collector
from .happened import Happened
from .home import ASK_AGAIN_S, LEAD_MS, token
from .leases import Leases
from .passes import Gateway
from .rounds import Judge, Watch
from .service import Service

TICK_S = 0.1
PATIENCE_S = 1.5 * LEAD_MS / 1000
Ended = Literal["finished", "cut off", "out of money"]
CUT_OFF = "the run was interrupted"


class OnlyOne:
    """A run's hold on its queue server: two at once would take each other's records."""

    def __init__(self, address: str) -> None:
        self._leases, self._token = Leases(address), token()
        self._renew_at = 0.0

    def take(self, stop: threading.Event) -> None:
        """Take it, once one that was cut off has run out.

        Raises:
            BrokerError: another run or scheduler keeps it; says whose it is and the remedy.
        """
        deadline = time.monotonic() + PATIENCE_S
        while not self._leases.lead(self._token, LEAD_MS) and not stop.is_set():
            if time.monotonic() >= deadline:
                raise BrokerError(self._taken())
            stop.wait(ASK_AGAIN_S)

    def keep(self) -> None:
        """Renew it now and then.

        Raises:
            BrokerError: it was lost to another.
        """
        if time.monotonic() >= self._renew_at:
            self._renew_at = time.monotonic() + LEAD_MS / 3000
            if not self._leases.lead(self._token, LEAD_MS):
                raise BrokerError(self._taken())

    def give_up(self) -> None:
        """Let the next one have it."""
        with contextlib.suppress(BrokerError):
            self._leases.step_down(self._token)
        self._leases.close()

    def _taken(self) -> str:
        return (
            f"another run or scheduler ({self._leases.leader()}) works on this queue server; wait "
            "for its end, give this run a database of its own such as redis://host:6379/1, or "
            "unset INFRANOISE_BROKER_URL"
        )


def dispatch(
    engine: Engine,
    experiment: str,
    address: str,
    node_alive: Callable[[], bool],
    stop: threading.Event,
    tell: Callable[[Happened], None],
    judge: Judge | None = None,
    gateway: Gateway | None = None,
) -> Ended:
    """Work until nothing is owed, `stop` is set, the node is gone or the budget is spent.

    What is under way when it stops is given up: its trials are owed again. Nothing is owed any more
    once `judge` has said that enough was seen and the waves that had begun are done.

    Raises:
        BrokerError: the queue server went away, run again to go on; or another run or scheduler
            works on it.
    """
    abandon(engine, experiment, f"{CUT_OFF}; begun again")
    leases, collector = Leases(address), Collector(address)
    watch = Watch(judge) if judge else None
    service = Service(
        engine,
        leases,
        collector,
        only=experiment,
        tell=tell,
        watch=watch,
        gateway=gateway,
    )
    hold = OnlyOne(address)
    try:
        hold.take(stop)
        while not stop.is_set() and not service.finished and node_alive():
            hold.keep()
            service.tick(TICK_S)
            if service.out_of_money:
                return "out of money"
        if not node_alive():
            service.lose_all()
        return "finished" if service.finished else "cut off"
    finally:
        hold.give_up()
        abandon(engine, experiment, CUT_OFF)
        collector.close()
        leases.close()
