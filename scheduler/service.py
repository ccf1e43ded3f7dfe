"""The scheduler: what is owed goes out under leases, records come in, what is lost is told.

One round (`tick`) may be cut off anywhere: the ledger is written before a message goes out, a lease
ends by itself, and a record leaves its stream only when it is in the ledger. A scheduler that takes
over begins from the ledger.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Engine

from ..models.errors import Unreadable
from ..models.ledger.attempts import abandon
from ..models.ledger.events import note
from ..models.ledger.open_work import open_work
from ..models.ledger.rounds import STOPPED
from .collect import Collector
from .happened import Happened
from .homecoming import Homecoming
from .leases import Leases
from .outgoing import Outgoing
from .passes import Gateway
from .roster import Roster
from .rounds import Stop, Watch
from .unfit import Unfit
from .window import Window

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

    `roster` has the nodes that are known, `left_out` the experiments that cannot be read, each with
    its why.
    """

    engine: Engine
    leases: Leases
    collector: Collector
    only: str | None = None
    tell: Callable[[Happened], None] = lambda _: None
    fence: int | None = None
    watch: Watch | None = None
    gateway: Gateway | None = None
    roster: Roster = field(init=False)
    windows: dict[str, Window] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    _out: Outgoing = field(init=False)
    _home: Homecoming = field(init=False)
    _looked_at: float = 0.0
    _told_of_money: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        unfit = Unfit()
        self.roster = Roster(self.engine, self.leases)
        self._out = Outgoing(self.engine, self.leases, self.roster, self.windows, unfit, self.fence)
        self._home = Homecoming(
            self.engine,
            self.leases,
            self.collector,
            self.windows,
            unfit,
            self.fence,
            self.only,
            reopened=self._opened,
            tell=self.tell,
            accepted=self._has_its_outcome,
        )

    def tick(self, wait_s: float) -> None:
        """One round; waits at most `wait_s` for a record.

        Raises:
            BrokerError: the queue server went away. LedgerError: the store refuses, or (`Deposed`)
                another scheduler leads.
        """
        self._home.receive(wait_s)
        self._home.take_calls()
        self._home.end_what_ran_out()
        if time.monotonic() - self._looked_at >= LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            self._look_at_experiments()
            self._look_at_money()
            self.roster.look(self.fence)
            self._home.find_lost_leases()
        self._out.send()

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
        self._home.lose_all()

    def _look_at_experiments(self) -> None:
        work = {n: w for n, w in open_work(self.engine).items() if self.only in (None, n)}
        for name in work.keys() - self.windows.keys():
            if work[name].state == "active" or work[name].under_way:
                self._take_up(name)
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

    def _take_up(self, name: str) -> None:
        try:
            self.windows[name] = self._opened(name)
        except Unreadable as error:
            if self.only:
                raise
            self.left_out[name] = str(error)
            return
        self.left_out.pop(name, None)
        if self.watch is not None and name == self.only:
            self._heed(name, self.watch.begin(self.engine, name))

    def _opened(self, name: str) -> Window:
        return Window.open(self.engine, name, self.gateway)

    def _cancel(self, name: str, window: Window) -> None:
        """Give up what is under way; the nodes stop it when they are next heard of."""
        attempts = list(window.running)
        self.leases.cancel(attempts)
        why = "the experiment was cancelled"
        abandon(self.engine, name, why, only=attempts, fence=self.fence)
        window.running.clear()
        window.pause()

    def _has_its_outcome(self, name: str, sample: int) -> None:
        """A trial of an experiment was the last thing that its round waited for, perhaps."""
        if self.watch is not None and name == self.only:
            self._heed(name, self.watch.ended(sample))

    def _heed(self, name: str, stop: Stop | None) -> None:
        window = self.windows.get(name)
        if stop is not None and window is not None:
            window.end_with_begun_waves()
            note(self.engine, name, STOPPED, stop.sentence, stop.document, fence=self.fence)

    def _look_at_money(self) -> None:
        """Whose budget is spent may have been granted more."""
        for name, window in self.windows.items():
            if not window.out_of_money:
                self._told_of_money.discard(name)
                continue
            window.look_at_money()
            if name not in self._told_of_money and window.out_of_money:
                self._told_of_money.add(name)
                spent = f"{window.purse.spent_usd:.4f} USD"
                self._home.set_aside(name, BUDGET_SPENT, spent)
