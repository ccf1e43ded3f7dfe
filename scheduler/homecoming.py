"""What comes home: records and calls go into the ledger, and what never comes is ended there."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Engine

from ..models.classify import DISK_FULL
from ..models.errors import Unreadable, WireError
from ..models.ledger.api_calls import take_calls
from ..models.ledger.events import note
from ..models.ledger.ingest import Ending, ingest
from ..models.ledger.states import states
from ..models.message import AttemptRecord
from ..models.outcome import Outcome
from .collect import Collector
from .endings import ending
from .happened import Happened
from .leases import Leases, RunOut
from .unfit import Unfit
from .window import Window

GATHER_S_EACH, GATHER_AT_MOST_S = 0.002, 0.1


def gather_s(under_way: int, since_s: float) -> float:
    """How long records may gather before the next are taken, seconds.

    A round costs as much for one record as for fifty, and where many attempts are under way more
    are about to come; where few are, the next trial is not kept waiting.

    Args:
        since_s: how long ago records were taken last.

    >>> gather_s(under_way=2, since_s=0.0), gather_s(under_way=1000, since_s=0.0)
    (0.004, 0.1)
    >>> gather_s(under_way=1000, since_s=0.3)
    0.0
    """
    return max(0.0, min(GATHER_AT_MOST_S, GATHER_S_EACH * under_way) - since_s)


@dataclass(slots=True)
class Homecoming:
    """The way home to one scheduler.

    Args:
        windows: of the experiments that it works on, by name.
        unfit: told of nodes on which something came off, or did not.
        fence: the lead under which it writes; None where no other scheduler can be.
        only: the one experiment that is worked on; None: all.
        reopened: makes a window of an experiment that is worked on no more.
        tell: called for each attempt that came home.
        accepted: called with the experiment and the sample of each trial that has its outcome.
    """

    engine: Engine
    leases: Leases
    collector: Collector
    windows: Mapping[str, Window]
    unfit: Unfit
    fence: int | None
    only: str | None
    reopened: Callable[[str], Window]
    tell: Callable[[Happened], None]
    accepted: Callable[[str, int], None]
    _took_at: float = 0.0
    _suspects: set[str] = field(default_factory=set)

    def receive(self, wait_s: float) -> None:
        """Take in records; waits at most `wait_s` for the first."""
        under_way = sum(len(window.running) for window in self.windows.values())
        time.sleep(gather_s(under_way, time.monotonic() - self._took_at))
        entries = self.collector.take(wait_s)
        if entries:
            self._took_at = time.monotonic()
        records: dict[str, list[AttemptRecord]] = defaultdict(list)
        for _, record in entries:
            if isinstance(record, WireError):
                self.set_aside(self.only or "", "unreadable record", str(record))
            else:
                records[record.experiment].append(record)
        strange = records.keys() - self.windows.keys()
        for name in strange - set(states(self.engine)) if strange else ():
            for record in records.pop(name):
                self.set_aside(name, "record of an unknown experiment", record.attempt_id)
        for name, group in records.items():
            endings = [Ending.of(record) for record in group]
            try:
                self._take_in(name, endings, {record.attempt_id: record for record in group})
            except Unreadable:
                for record in group:
                    kind = "record of an unreadable experiment"
                    self.set_aside(name, kind, record.attempt_id, record.encode())
        self.collector.done([id_ for id_, _ in entries])

    def take_calls(self) -> None:
        """Calls of models' APIs go into the ledger, and what they cost to their experiments."""
        entries = self.collector.take_calls()
        calls = [call for _, call in entries if call is not None]
        take_calls(self.engine, calls, fence=self.fence)
        self.collector.done_with_calls([id_ for id_, _ in entries])
        for name in {call.experiment for call in calls} & self.windows.keys():
            self.windows[name].look_at_money()

    def set_aside(self, name: str, kind: str, subject: str, document: str = "{}") -> None:
        """Keep an event of an experiment."""
        note(self.engine, name, kind, subject, document, fence=self.fence)

    def end_what_ran_out(self) -> None:
        """End the attempts whose leases are over."""
        over = {one.attempt: one for one in self.leases.run_out()}
        for name, window in self.windows.items():
            self._end(name, {a: one for a, one in over.items() if a in window.running})
        for node in {one.node for one in over.values() if not one.started}:
            self.unfit.missed(node, time.monotonic())

    def find_lost_leases(self) -> None:
        """Attempts under way without a lease, seen twice: the queue server has lost its memory."""
        attempts = [a for window in self.windows.values() for a in window.running]
        loose = set(attempts) - self.leases.held(attempts) if attempts else set()
        gone, self._suspects = loose & self._suspects, loose - self._suspects
        for name, window in self.windows.items():
            self._end(name, {a: None for a in gone if a in window.running})

    def lose_all(self) -> None:
        """The only node is gone: what comes home no more ends as `node_lost`."""
        self.receive(0)
        for name, window in self.windows.items():
            lost = {a: RunOut(a, one.node, True) for a, one in window.running.items()}
            self._end(name, lost)

    def _take_in(
        self, name: str, endings: Sequence[Ending], records: Mapping[str, AttemptRecord]
    ) -> None:
        window = self.windows.get(name) or self.reopened(name)
        most = window.experiment.run.max_attempts
        for ingested in ingest(self.engine, endings, most, fence=self.fence):
            key = window.key(ingested.trial)
            replay = window.came_home(ingested.attempt, again=not ingested.accepted)
            record = records.get(ingested.attempt)
            if record is not None:
                self._weigh(record.conditions.node, ingested.outcome)
            self.tell(Happened(name, key, ingested, record, replay))
            if ingested.accepted:
                self.accepted(name, key.sample)
        for one in endings:  # what is left was ended before, by another hand
            window.running.pop(one.attempt, None)

    def _weigh(self, node: str, outcome: Outcome) -> None:
        if outcome.rule == DISK_FULL:
            self.unfit.missed(node, time.monotonic())
        else:
            self.unfit.came_off(node)

    def _end(self, name: str, attempts: Mapping[str, RunOut | None]) -> None:
        """End attempts of which no record will come, by what is known of their leases."""
        window, now = self.windows[name], time.time()
        most = window.experiment.run.max_attempts
        endings = [
            ending(attempt, window.running[attempt], name, now, over, most)
            for attempt, over in attempts.items()
        ]
        if endings:
            self._take_in(name, endings, {})
