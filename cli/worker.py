"""`worker`: this machine as a node of a fleet."""

import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import BrokerError, DesignError
from ..models.message import node_queue
from ..scheduler.broker import check
from ..workers.runtimes import NAMES
from ..workers.settings import WorkerSettings, worker_settings

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked of a worker; None: as the worker's own settings have it."""

    broker: str
    node: str | None
    slots: int | None
    cpus: float | None
    memory: str | None
    runtimes: tuple[str, ...]
    blobs: str | None
    state: Path | None
    grace_s: float | None
    alive: Path | None = None
    probe_every_s: float | None = None
    reach: tuple[str, ...] = ()
    egress_hosts: tuple[str, ...] = ()

    def variables(self) -> dict[str, str]:
        """The worker's environment variables that say so."""
        told = {
            "BROKER_URL": self.broker,
            "NODE": self.node,
            "SLOTS": self.slots,
            "CPUS": self.cpus,
            "MEMORY": self.memory,
            "RUNTIMES": ",".join(self.runtimes),
            "BLOBS": self.blobs,
            "STATE": self.state,
            "GRACE": self.grace_s,
            "ALIVE": self.alive,
            "PROBE_EVERY": self.probe_every_s,
            "REACH": ",".join(self.reach),
            "EGRESS_HOSTS": ",".join(self.egress_hosts),
        }
        return {f"INFRANOISE_{k}": str(v) for k, v in told.items() if v not in (None, "")}


def work(asked: Asked, *, log_level: str) -> int:
    """Work until SIGTERM or SIGINT; returns the exit code.

    Raises:
        DesignError: an option is not what it should be, or another worker bears this node's id.
        BrokerError: the queue server does not answer.
    """
    level = log_level.upper()
    if level not in LEVELS:
        raise DesignError(f"--log-level {log_level}: choose one of {', '.join(LEVELS)}")
    strange = [name for name in asked.runtimes if name not in NAMES]
    if strange:
        raise DesignError(f"--runtime {strange[0]}: choose one of {', '.join(NAMES)}")
    settings = worker_settings(os.environ | asked.variables())
    check(settings.broker)
    _check_alone(settings)
    os.environ.update(asked.variables())  # the worker reads its settings there when it is imported
    return _celery(settings, level)


def _check_alone(settings: WorkerSettings) -> None:
    from ..workers.namesake import somebody_else

    if somebody_else(settings.broker, settings.node):
        raise BrokerError(
            f"another worker calls itself {settings.node} and is alive; give this one an id of its "
            "own (--node), or stop the other"
        )


def _celery(settings: WorkerSettings, level: str) -> int:
    """Run Celery's worker in this process; gossip and mingle would cost the node's own CPU."""
    from ..workers.app import app

    # Pods need cgroups, so that root is the rule on a node; what runs in them is another user.
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    print(
        f"node {settings.node}: {settings.slots} slots, state in {settings.state}",
        file=sys.stderr,
        flush=True,
    )
    app.worker_main(
        [
            *("--quiet", "worker"),
            *("--pool", "threads", "--loglevel", level),
            *("--hostname", f"{settings.node}@infranoise", "--queues", node_queue(settings.node)),
            *("--without-gossip", "--without-mingle", "--heartbeat-interval", "10"),
        ]
    )
    return 0
