"""`flower`: Celery's own monitor, read-only, with our words in its rows."""

import os
import sys
from pathlib import Path

from ..models.errors import DesignError
from ..scheduler.broker import check

CONFIG = Path(__file__).with_name("flower_config.py")
MOST_TASKS = 20_000  # at 6 KB each
COLUMNS = "uuid,kwargs,args,state,result,worker,received,runtime"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def show(broker: str, *, address: str, port: int, auth: str | None) -> int:
    """Become Flower: this process is replaced.

    Raises:
        DesignError: it would be open to a network without a password, or Flower is not installed.
        BrokerError: the queue server does not answer.
    """
    if address not in LOOPBACK and not auth:
        raise DesignError(
            f"--address {address}: Flower shows the whole fleet to whoever reaches it; give --auth "
            "user:password (INFRANOISE_FLOWER_AUTH), or listen on 127.0.0.1"
        )
    check(broker)
    argv = command(address, port)
    os.execve(argv[0], argv, dict(os.environ) | variables(broker, auth))


def command(address: str, port: int) -> list[str]:
    """The command line. Read-only: what Flower can change it would change past the leases."""
    options = {
        "address": address,
        "port": port,
        "conf": CONFIG,
        "read_only": True,
        "max_tasks": MOST_TASKS,
        "tasks_columns": COLUMNS,
        "inspect_timeout": 5000,
        "purge_offline_workers": 86_400,
        "logging": "warning",
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return [sys.executable, "-m", "celery", "flower", *words]


def variables(broker: str, auth: str | None) -> dict[str, str]:
    """What goes by the environment: command lines are for all to see."""
    return {"CELERY_BROKER_URL": broker} | ({"FLOWER_BASIC_AUTH": auth} if auth else {})
