"""The scheduler: what is owed goes out under leases, records come in, what is lost is told.

One round (`tick`) may be cut off anywhere: the ledger is written before a message goes out, a lease
ends by itself, and a record leaves its stream only when it is in the ledger. A scheduler that takes
over begins from the ledger.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from sqlalchemy import Engine

from ..models.classify import DISK_FULL
from ..models.errors import WireError
from ..models.ledger.api_calls import take_calls
from ..models.ledger.attempts import abandon, place_over
from ..models.ledger.events import note
from ..models.ledger.ingest import Ending, ingest
from ..models.ledger.open_work import open_work
from ..models.ledger.rounds import STOPPED
from ..models.ledger.states import states
from ..models.message import AttemptRecord
from ..models.outcome import Outcome
from .collect import Collector
from .endings import ending
from .enqueue import Enqueuer
from .happened import Happened
from .leases import Grant, Leases, RunOut
from .passes import Gateway
from .placement import Placed
from .placement import place as choose_nodes
from .rooms import rooms
from .roster import Roster
from .rounds import Stop, Watch
from .unfit import Unfit
from .window import Window, attempt_of

LOOK_EVERY_S = 2.0  # how often experiments' states and lost leases are looked for in the ledger
BUDGET_SPENT = "the budget is spent"


@dataclass(slots=True)
class Service:
    """One scheduler over one ledger and one queue server.

    Args:
        only: work on this experiment alone; on all active ones unless given.
        tell: called for each attempt that came home, from the scheduler's thread.
        fence: the lead under which it writes; None where no other scheduler can be.
        watch: told of the rounds of `only` as they complete; it may stop the run early.
        gateway: what attempts with a model are given a way to.

    `roster` has the nodes that are known.
    """

    engine: Engine
    leases: Leases
    enqueuer: Enqueuer
    collector: Collector
    only: str | None = None
    tell: Callable[[Happened], None] = lambda _: None
    fence: int | None = None
    watch: Watch | None = None
    gateway: Gateway | None = None
    random: Random = field(default_factory=Random)
    roster: Roster = field(init=False)
    windows: dict[str, Window] = field(default_factory=dict)
    _looked_at: float = 0.0
    _suspects: set[str] = field(default_factory=set)
    _unfit: Unfit = field(default_factory=Unfit)
    _told_of_money: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.roster = Roster(self.engine, self.leases)

    def tick(self, wait_s: float) -> None:
        """One round; waits at most `wait_s` for a record.

        Raises:
            BrokerError: the queue server went away. LedgerError: the store refuses, or (`Deposed`)
                another scheduler leads.
        """
        self._receive(wait_s)
        self._take_calls()
        self._end_what_ran_out()
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            self._look_at_experiments()
            self._look_at_money()
            self.roster.look(self.fence)
            self._find_lost_leases()
        self._send()

    @property
    def finished(self) -> bool:
        """Whether no experiment that is worked on has anything owed or under way."""
        return bool(self.windows) and all(window.finished for window in self.windows.values())

    @property
    def out_of_money(self) -> bool:
        """Whether all that is not finished waits for a higher budget alone."""
        left = [window for window in self.windows.values() if not window.finished]
        return bool(left) and all(window.out_of_money for window in left)

    def lose_all(self) -> None:
        """The only node is gone: what comes home no more ends as `node_lost`."""
        self._receive(0)
        for name, window in self.windows.items():
            lost = {a: RunOut(a, one.node, True) for a, one in window.running.items()}
            self._end(name, lost)

    def _look_at_experiments(self) -> None:
        work = {n: w for n, w in open_work(self.engine).items() if self.only in (None, n)}
        for name in work.keys() - self.windows.keys():
            if work[name].state == "active" or work[name].under_way:
                self.windows[name] = Window.open(self.engine, name, self.gateway)
                if self.watch is not None and name == self.only:
                    self._heed(name, self.watch.begin(self.engine, name))
        for name, window in list(self.windows.items()):
            state = work[name].state if name in work else "done"
            if state == "cancelled":
                self._cancel(name, window)
            elif state == "paused":
                window.pause()
            elif state == "active":
                window.resume()
            idle = state != "active" or window.finished  # what is owed all the same is read anew
            if idle and not window.running and name != self.only:
                del self.windows[name]

    def _cancel(self, name: str, window: Window) -> None:
        """Give up what is under way; the nodes stop it when they are next heard of."""
        attempts = list(window.running)
        self.leases.cancel(attempts)
        why = "the experiment was cancelled"
        abandon(self.engine, name, why, only=attempts, fence=self.fence)
        window.running.clear()
        window.pause()

    def _heed(self, name: str, stop: Stop | None) -> None:
        window = self.windows.get(name)
        if stop is not None and window is not None:
            window.end_with_begun_waves()
            note(self.engine, name, STOPPED, stop.sentence, stop.document, fence=self.fence)

    # -- out ----------------------------------------------------------------------------------

    def _send(self) -> None:
        active = [w for w in self.windows.values() if not (w.finished or w.paused)]
        for window in active:
            window.top_up(self.fence)
        lines = [window.line(time.monotonic()) for window in active]
        if not any(line.waiting for line in lines):
            return
        now = time.monotonic()
        able = rooms(
            self.leases.free(),
            self.roster.known,
            self.windows.values(),
            lambda node: self._unfit.passes_over(node, now),
        )
        placed = choose_nodes(lines, able, self.random, now)
        self._grant_and_send(placed)

    def _grant_and_send(self, placed: Sequence[Placed]) -> None:
        trials = [self.windows[one.experiment].ready[one.want.trial] for one in placed]
        wants = [
            Grant(attempt_of(trial), one.node, one.want.floor) for trial, one in zip(trials, placed)
        ]
        fences = self.leases.grant(wants)
        granted: dict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for one, fence in zip(placed, fences):
            if fence:
                granted[one.experiment].append((one.want.trial, one.node, fence))
        for name, going in granted.items():
            self._send_of(self.windows[name], going)

    def _send_of(self, window: Window, granted: Sequence[tuple[str, str, int]]) -> None:
        """Send trials of an experiment, each with its node and fence."""
        nodes = [node for _, node, _ in granted]
        going = window.went_out([(trial, node) for trial, node, _ in granted])
        place_over(self.engine, window.experiment.name, zip(nodes, going), fence=self.fence)
        now = time.time()
        fences = [fence for _, _, fence in granted]
        messages = [window.message(trial, fence, now) for trial, fence in zip(going, fences)]
        self.leases.check_lead()
        self.enqueuer.send(zip(nodes, messages))

    # -- home ---------------------------------------------------------------------------------

    def _receive(self, wait_s: float) -> None:
        entries = self.collector.take(wait_s)
        records: dict[str, list[AttemptRecord]] = defaultdict(list)
        for _, record in entries:
            if isinstance(record, WireError):
                self._set_aside(self.only or "", "unreadable record", str(record))
            else:
                records[record.experiment].append(record)
        strange = records.keys() - self.windows.keys()
        for name in strange - set(states(self.engine)) if strange else ():
            for record in records.pop(name):
                self._set_aside(name, "record of an unknown experiment", record.attempt_id)
        for name, group in records.items():
            endings = [Ending.of(record) for record in group]
            self._take_in(name, endings, {record.attempt_id: record for record in group})
        self.collector.done([id_ for id_, _ in entries])

    def _set_aside(self, name: str, kind: str, subject: str) -> None:
        note(self.engine, name, kind, subject, fence=self.fence)

    def _take_calls(self) -> None:
        """Calls of models' APIs go into the ledger, and what they cost to their experiments."""
        entries = self.collector.take_calls()
        calls = [call for _, call in entries if call is not None]
        take_calls(self.engine, calls, fence=self.fence)
        self.collector.done_with_calls([id_ for id_, _ in entries])
        for name in {call.experiment for call in calls} & self.windows.keys():
            self.windows[name].look_at_money()

    def _look_at_money(self) -> None:
        """Whose budget is spent may have been granted more."""
        for name, window in self.windows.items():
            if not window.out_of_money:
                self._told_of_money.discard(name)
                continue
            window.look_at_money()
            if name not in self._told_of_money and window.out_of_money:
                self._told_of_money.add(name)
                self._set_aside(name, BUDGET_SPENT, f"{window.purse.spent_usd:.4f} USD")

    def _take_in(
        self, name: str, endings: Sequence[Ending], records: Mapping[str, AttemptRecord]
    ) -> None:
        window = self.windows.get(name) or Window.open(self.engine, name, self.gateway)
        most = window.experiment.run.max_attempts
        for ingested in ingest(self.engine, endings, most, fence=self.fence):
            key = window.key(ingested.trial)
            replay = window.came_home(ingested.attempt, again=not ingested.accepted)
            record = records.get(ingested.attempt)
            if record is not None:
                self._weigh(record.conditions.node, ingested.outcome)
            self.tell(Happened(name, key, ingested, record, replay))
            if ingested.accepted and self.watch is not None and name == self.only:
                self._heed(name, self.watch.ended(key.sample))
        for one in endings:  # what is left was ended before, by another hand
            window.running.pop(one.attempt, None)

    def _weigh(self, node: str, outcome: Outcome) -> None:
        if outcome.rule == DISK_FULL:
            self._unfit.missed(node, time.monotonic())
        else:
            self._unfit.came_off(node)

    def _end_what_ran_out(self) -> None:
        over = {one.attempt: one for one in self.leases.run_out()}
        for name, window in self.windows.items():
            self._end(name, {a: one for a, one in over.items() if a in window.running})
        for node in {one.node for one in over.values() if not one.started}:
            self._unfit.missed(node, time.monotonic())

    def _find_lost_leases(self) -> None:
        """Attempts under way without a lease, seen twice: the queue server has lost its memory."""
        attempts = [a for window in self.windows.values() for a in window.running]
        loose = set(attempts) - self.leases.held(attempts) if attempts else set()
        gone, self._suspects = loose & self._suspects, loose - self._suspects
        for name, window in self.windows.items():
            self._end(name, {a: None for a in gone if a in window.running})

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
