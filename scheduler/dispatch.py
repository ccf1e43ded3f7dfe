"""The loop of home for one node: what is owed goes out, records come in, until nothing is owed.

The ledger decides what is owed; the loop can be stopped at any moment and begun again.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine

from ..models.errors import WireError
from ..models.evidence import Evidence
from ..models.experiment import Experiment
from ..models.ledger.attempts import Owed, abandon, owed, place
from ..models.ledger.events import note
from ..models.ledger.ingest import Ending, Ingested, ingest
from ..models.ledger.nodes import write_node
from ..models.message import AttemptRecord
from ..models.task import Task
from ..models.trial import TrialKey, attempt_id
from .backlog import due
from .collect import Collector
from .enqueue import Enqueuer
from .orders import order

TICK_S = 0.25


@dataclass(frozen=True, slots=True)
class Happened:
    """One attempt came home: its trial's key, what became of it, and its record if there is one."""

    key: TrialKey
    ingested: Ingested
    record: AttemptRecord | None


@dataclass(frozen=True, slots=True)
class Site:
    """Where a run happens: the node, its slots, and the way to its queue and back."""

    node: str
    slots: int
    enqueuer: Enqueuer
    collector: Collector


class Dispatch:
    """One run of an experiment on one node.

    Args:
        keys: the key of every trial of the plan, by trial id.
        concurrency: trials in flight that a wave asks for.
        tell: called for each attempt that came home, from the loop's thread.
    """

    def __init__(
        self,
        engine: Engine,
        experiment: Experiment,
        tasks: Mapping[str, Task],
        keys: Mapping[str, TrialKey],
        concurrency: Mapping[int, int],
        site: Site,
        tell: Callable[[Happened], None],
    ) -> None:
        self._engine, self._experiment, self._site = engine, experiment, site
        self._tasks, self._keys, self._concurrency = tasks, keys, concurrency
        self._tell = tell
        self._backlog: deque[Owed] = deque()
        self._running: dict[str, Owed] = {}
        self._began_at = time.time()

    def run(self, stop: threading.Event, node_alive: Callable[[], bool]) -> None:
        """Work until nothing is owed or `stop` is set; what is under way then is given up.

        Raises:
            BrokerError: the queue server went away; run again to go on.
        """
        abandon(self._engine, self._experiment.name, "the run was interrupted; begun again")
        self._backlog.extend(owed(self._engine, self._experiment.name))
        try:
            while (self._backlog or self._running) and not stop.is_set():
                self._send()
                self._receive(TICK_S)
                if not node_alive():
                    self._receive(0)
                    self._lose()
                    return
        finally:
            abandon(self._engine, self._experiment.name, "the run was interrupted")

    @property
    def finished(self) -> bool:
        """Whether nothing was left owed."""
        return not self._backlog and not self._running

    def _send(self) -> None:
        waves = {trial: o.wave for trial, o in self._running.items()}
        taken = due(self._backlog, waves, self._concurrency, self._site.slots)
        if not taken:
            return
        place(self._engine, self._experiment.name, self._site.node, taken)
        now = time.time()
        self._site.enqueuer.send(
            self._site.node,
            [
                order(
                    self._experiment,
                    self._tasks,
                    trial,
                    self._keys[trial.id],
                    queued_at=self._began_at,
                    now=now,
                )
                for trial in taken
            ],
        )
        self._running |= {trial.id: trial for trial in taken}

    def _receive(self, wait_s: float) -> None:
        entries = self._site.collector.take(wait_s)
        records = {
            record.attempt_id: record
            for _, record in entries
            if isinstance(record, AttemptRecord) and record.experiment == self._experiment.name
        }
        for _, fault in entries:
            if isinstance(fault, WireError):
                note(self._engine, self._experiment.name, "unreadable record", str(fault))
        self._take_in([Ending.of(record) for record in records.values()], records)
        self._site.collector.done([id_ for id_, _ in entries])

    def _take_in(self, endings: list[Ending], records: Mapping[str, AttemptRecord]) -> None:
        attempts = self._experiment.run.max_attempts
        for ingested in ingest(self._engine, endings, attempts):
            ended = self._running.pop(ingested.trial, None)
            if ended is not None and not ingested.accepted:
                again = Owed(ended.id, ended.wave, ended.position, ended.next_number + 1)
                self._backlog.appendleft(again)
            key, record = self._keys[ingested.trial], records.get(ingested.attempt)
            self._tell(Happened(key, ingested, record))

    def _lose(self) -> None:
        """The node is gone: what was under way there ends as `node_lost`, with that evidence."""
        evidence = Evidence(node_seen="no")
        endings = [
            Ending(
                attempt=attempt_id(trial.id, trial.next_number),
                trial=trial.id,
                experiment=self._experiment.name,
                node=self._site.node,
                ended_at=time.time(),
                evidence=evidence,
            )
            for trial in self._running.values()
        ]
        self._take_in(endings, {})

    def write_nodes(self) -> None:
        """Write the nodes' profiles into the ledger, as they told them."""
        for node, profile in self._site.collector.nodes().items():
            write_node(self._engine, node, profile)
