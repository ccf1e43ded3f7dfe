"""An experiment's window: what the scheduler holds of it while the ledger holds the rest."""

import itertools
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine

from ..models.experiment import Experiment
from ..models.lease.capacity import Capacity
from ..models.ledger import reading
from ..models.ledger.api_calls import spent
from ..models.ledger.attempts import Owed, Replay, under_way
from ..models.ledger.keys import trial_keys, wave_levels
from ..models.ledger.live import node_standings
from ..models.ledger.open_work import blobs_of
from ..models.message import AttemptMessage
from ..models.task import Task
from ..models.trial import TrialKey, attempt_id
from .backlog import PIECE, Backlog
from .orders import concurrency_by_wave, order
from .passes import Gateway, with_pass
from .placement import Line, Want
from .purse import Purse
from .wants import Wants

FRONT = 512  # trials at the front that are looked at in one round


@dataclass(slots=True)
class Running:
    """An attempt under way: its trial, where it runs, and the floor that it takes."""

    owed: Owed
    node: str
    floor: Capacity
    concurrency: int | None
    provider: str = ""


@dataclass(slots=True)
class Window:
    """One experiment as the scheduler works on it. While `paused` nothing of it is sent.

    Kill replays come last, when every trial that is to run has its outcome.
    """

    engine: Engine
    experiment: Experiment
    tasks: Mapping[str, Task]
    wants: Wants
    backlog: Backlog
    began_at: float
    blobs: str = ""
    weight: float = 1.0
    paused: bool = False
    ready: OrderedDict[str, Owed] = field(default_factory=OrderedDict)
    keys: dict[str, TrialKey] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    spread: Counter[tuple[str, str]] = field(default_factory=Counter)
    _head: tuple[str, float] = ("", 0.0)
    gateway: Gateway | None = None
    purse: Purse = field(default_factory=lambda: Purse(None, None))

    @classmethod
    def open(cls, engine: Engine, name: str, gateway: Gateway | None = None) -> "Window":
        """Read an experiment; attempts that are under way already are taken up.

        Args:
            gateway: what attempts are given a way to.
        """
        experiment = reading.experiment(engine, name)
        tasks = {task.name: task for task in reading.tasks(engine, name)}
        window = cls(
            engine,
            experiment,
            tasks,
            Wants(experiment, tasks, concurrency_by_wave(wave_levels(engine, name))),
            Backlog(engine, name),
            began_at=time.time(),
            blobs=blobs_of(engine, name),
            gateway=gateway,
        )
        for one in node_standings(engine, name):  # whoever led before, bands stay evenly spread
            window.spread[one.band, one.node] = one.ended
        window.look_at_money()
        placed = under_way(engine, name)
        window._learn([one.owed.id for one in placed.values()])
        for attempt, way in placed.items():
            window._begin(attempt, way.owed, way.node)
            window.spread[window._want(way.owed).band, way.node] += 1
        return window

    @property
    def finished(self) -> bool:
        """Whether nothing is owed and nothing runs."""
        return self._idle and self.backlog.empty

    @property
    def out_of_money(self) -> bool:
        """Whether only the budget keeps it from going on: nothing runs, and nothing may begin."""
        front = itertools.islice(self.ready.values(), FRONT)
        return (
            not self.running
            and bool(self.ready)
            and not self._affordable([self._want(trial) for trial in front])
        )

    def look_at_money(self) -> None:
        """Read again what the experiment may spend and has spent."""
        name = self.experiment.name
        if not self.experiment.models:
            return
        self.experiment = reading.experiment(self.engine, name)
        taken = spent(self.engine, name)
        self.purse = Purse.of(self.experiment, taken.cost_usd, taken.attempts)

    @property
    def _idle(self) -> bool:
        return not self.ready and not self.running

    def pause(self) -> None:
        """Send nothing more; what runs goes on. What was held ready is read again on `resume`."""
        if not self.paused:
            self.ready.clear()
            self.backlog.begin_again()
            self.paused = True

    def resume(self) -> None:
        """Send again what is owed."""
        self.paused = False

    def end_with_begun_waves(self) -> None:
        """Send nothing of waves that have not begun; those that have are run to their end."""
        last = self.backlog.end_with_begun_waves()
        for trial in list(self.ready.values()):
            if not trial.replay and trial.wave > last:
                del self.ready[trial.id]

    def top_up(self, fence: int | None = None) -> None:
        """Read more of what is owed when little of it is left; replays once all else is done."""
        more: Sequence[Owed] = ()
        if not self.backlog.all_read:
            if len(self.ready) <= PIECE // 2:
                more = self.backlog.trials()
        elif self._idle and not self.backlog.replays_read:
            more = self.backlog.replays(self.experiment, fence)
        self.ready.update((trial.id, trial) for trial in more)
        self._learn([one.id for one in more])

    def line(self, now: float) -> Line:
        """What waits, as placement wants it: the front of the window."""
        waiting = self._affordable(
            [self._want(trial) for trial in itertools.islice(self.ready.values(), FRONT)]
        )
        if waiting:
            head = waiting[0].trial
            self._head = self._head if self._head[0] == head else (head, now)
            waiting[0] = replace(waiting[0], since=self._head[1])
        busy = sum(max(1, one.floor.cpu_m) for one in self.running.values())
        name, room = self.experiment.name, self._provider_room()
        return Line(name, waiting, busy, self.weight, self.spread, room)

    def _affordable(self, wants: list[Want]) -> list[Want]:
        """What may begin within the budget; trials that cost nothing always may."""
        left = self.purse.affords(sum(bool(one.provider) for one in self.running.values()))
        if left is None:
            return wants
        paid = itertools.count()
        return [want for want in wants if not want.provider or next(paid) < left]

    def _provider_room(self) -> dict[str, int]:
        busy = Counter(one.provider for one in self.running.values())
        return {
            name: provider.max_in_flight - busy[name]
            for name, provider in self.experiment.providers.items()
            if provider.max_in_flight is not None
        }

    def went_out(self, sent: Sequence[tuple[str, str]]) -> list[Owed]:
        """Count trials as under way: (trial, node) pairs; returns them in that order."""
        going = [self.ready.pop(id_) for id_, _ in sent]
        for trial, (_, node) in zip(going, sent):
            self._begin(attempt_of(trial), trial, node)
        return going

    def came_home(self, attempt: str, *, again: bool) -> Replay | None:
        """An attempt has ended; with `again` its trial is owed another. What it replayed, if so.

        Whether a replay is to be tried again is read from the ledger once all are home.
        """
        ended = self.running.pop(attempt, None)
        if ended is None:
            return None
        trial = ended.owed
        if again and not self.paused and trial.replay is None:
            self.ready[trial.id] = replace(trial, next_number=trial.next_number + 1)
            self.ready.move_to_end(trial.id, last=False)
        else:
            self.keys.pop(trial.id, None)
        return trial.replay

    def key(self, trial: str) -> TrialKey:
        """The key of a trial of this experiment."""
        self._learn([trial])
        return self.keys[trial]

    def message(self, trial: Owed, fence: int, now: float) -> AttemptMessage:
        """The message of a trial's next attempt, under a lease."""
        made = order(
            self.experiment,
            self.tasks,
            trial,
            self.keys[trial.id],
            queued_at=self.began_at,
            now=now,
        )
        leased = made.model_copy(update={"fence": fence, "blobs": self.blobs})
        return with_pass(leased, self.experiment, self.gateway)

    def _want(self, trial: Owed) -> Want:
        return self.wants.of(trial, self.keys[trial.id].cell)

    def _begin(self, attempt: str, trial: Owed, node: str) -> None:
        want = self._want(trial)
        self.running[attempt] = Running(trial, node, want.floor, want.concurrency, want.provider)

    def _learn(self, trials: list[str]) -> None:
        missing = [trial for trial in trials if trial not in self.keys]
        if missing:
            self.keys |= trial_keys(self.engine, self.experiment.name, missing)


def attempt_of(trial: Owed) -> str:
    """The id of a trial's next attempt."""
    return attempt_id(trial.id, trial.next_number)
