"""One experiment with a worker of our own, from what is owed to nothing owed.

The ledger decides what is owed; the loop can be stopped at any moment and begun again.
"""

import threading
from collections.abc import Callable

from sqlalchemy import Engine

from ..models.ledger.attempts import abandon
from .collect import Collector
from .enqueue import Enqueuer
from .happened import Happened
from .leases import Leases
from .rounds import Judge, Watch
from .service import Service

TICK_S = 0.1
CUT_OFF = "the run was interrupted"


def dispatch(
    engine: Engine,
    experiment: str,
    address: str,
    node_alive: Callable[[], bool],
    stop: threading.Event,
    tell: Callable[[Happened], None],
    judge: Judge | None = None,
) -> bool:
    """Work until nothing is owed, `stop` is set, or the node is gone; True if nothing is owed.

    What is under way when it stops is given up: its trials are owed again. Nothing is owed any more
    once `judge` has said that enough was seen and the waves that had begun are done.

    Raises:
        BrokerError: the queue server went away; run again to go on.
    """
    abandon(engine, experiment, f"{CUT_OFF}; begun again")
    leases, enqueuer, collector = Leases(address), Enqueuer(address), Collector(address)
    watch = Watch(judge) if judge else None
    service = Service(engine, leases, enqueuer, collector, only=experiment, tell=tell, watch=watch)
    try:
        while not stop.is_set() and not service.finished and node_alive():
            service.tick(TICK_S)
        if not node_alive():
            service.lose_all()
        return service.finished
    finally:
        abandon(engine, experiment, CUT_OFF)
        enqueuer.close()
        collector.close()
        leases.close()
