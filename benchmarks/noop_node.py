"""A node whose pods do nothing: the worker's own process, with canned records. See `fleet_noop.py`.

python benchmarks/noop_node.py BROKER SLOTS
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ledger_load import record_of

from infranoise.cli.worker import Asked, work
from infranoise.models.ledger.attempts import Owed
from infranoise.models.message import AttemptMessage, AttemptRecord

MADE = record_of(0, Owed("trial", 0, 0, 1))


def canned(order: AttemptMessage) -> AttemptRecord:
    """What a node would tell of this attempt, without having run it."""
    ids = {
        name: getattr(order, name) for name in ("attempt_id", "trial_id", "experiment", "number")
    }
    return MADE.model_copy(update=ids)


def main() -> None:
    """Work until told to stop."""
    broker, slots = sys.argv[1:]
    with TemporaryDirectory(prefix="infranoise-noop-") as folder:
        asked = Asked(
            broker=broker,
            node="noop",
            slots=int(slots),
            cpus=1e5,
            memory="900000G",
            runtimes=("process",),
            blobs=None,
            state=Path(folder),
            grace_s=1.0,
        )
        os.environ.update(asked.variables())
        from infranoise.workers import tasks  # reads its settings when it is imported

        tasks.run = canned
        sys.exit(work(asked, log_level="WARNING"))


if __name__ == "__main__":
    main()
