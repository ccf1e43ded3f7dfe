"""Trials that others ran, taken into the ledger in bulk.

A trial is known by its identity: read again, from the same place or from a copy, it changes
nothing. All writes of one `transaction` stand or fall together, so that a file which turns out to
be broken leaves nothing behind.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import batched

from sqlalchemy import Engine, select
from sqlalchemy.engine import Connection

from ... import __version__
from ..classify import classify
from ..foreign import ForeignTrial
from ..message import AttemptRecord
from ..outcome import Outcome
from ..trial import attempt_id
from .attempts import JUDGED, judgement
from .bulk import Row, insert_rows, update_rows
from .events import write_event
from .foreign_nouns import LOOKUP, ForeignNouns, Place
from .ingest import count
from .tables import ATTEMPT, CELL, TRIAL
from .writing import writing

TRIALS = ("id", "experiment", "accepted", *Place._fields)
ATTEMPTS = (
    *("id", "experiment", "trial", "number", "node", "state", "ended_at", "record"),
    *JUDGED,
)


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of trials: `new` ones, `known` ones with the same content, and `conflicts`:
    identities that were known with another content, of which the first counts."""

    new: int = 0
    known: int = 0
    conflicts: tuple[str, ...] = ()

    def __add__(self, other: "Adopted") -> "Adopted":
        return Adopted(
            self.new + other.new, self.known + other.known, self.conflicts + other.conflicts
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """A trial as it is to be written: its id, its attempts' records and what they mean."""

    id: str
    trial: ForeignTrial
    records: tuple[AttemptRecord, ...]
    texts: tuple[str, ...]

    def says(self, texts: Sequence[str]) -> bool:
        """Other records of the trial tell the same facts; where they were read does not count."""
        if self.texts == tuple(texts):
            return True
        others = [AttemptRecord.decode(text) for text in texts]
        return [(r.evidence, r.clocks) for r in self.records] == [
            (r.evidence, r.clocks) for r in others
        ]


class Adoption:
    """Takes trials into one experiment of a ledger.

    Args:
        experiment: its name; made with the first trials if it is not there.
        factors: names of its further factors, should it be new.
    """

    def __init__(self, engine: Engine, experiment: str, factors: Sequence[str] = ()) -> None:
        self._engine, self._experiment, self._factors = engine, experiment, tuple(factors)
        self._nouns: ForeignNouns | None = None
        self._connection: Connection | None = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything taken in inside is written, or nothing is.

        Raises:
            LedgerError: an experiment of that name was run here, not imported.
        """
        try:
            with writing(self._engine) as connection:
                self._connection = connection
                if self._nouns is None:
                    self._nouns = ForeignNouns(connection, self._experiment, self._factors)
                yield
        except BaseException:
            self._nouns = None  # what it knew may have been rolled back
            raise
        finally:
            self._connection = None

    def take(self, trials: Iterable[ForeignTrial]) -> Adopted:
        """Take trials in; call it inside a `transaction`."""
        assert self._connection is not None, "take() belongs inside transaction()"
        assert self._nouns is not None
        told, twice, conflicts = self._distinct(trials)
        stored = _stored(self._connection, list(told))
        for id_ in stored.keys() & told.keys():
            if told[id_].says(stored[id_]):
                twice += 1
            else:
                conflicts.append(told[id_].trial.identity)
        new = [one for id_, one in told.items() if id_ not in stored]
        if new:
            self._nouns.grow(self._connection, [one.trial for one in new])
            _write(self._connection, new, self._nouns)
        for identity in conflicts:
            write_event(self._connection, self._experiment, "conflicting import", identity)
        return Adopted(len(new), twice, tuple(conflicts))

    def _distinct(self, trials: Iterable[ForeignTrial]) -> tuple[dict[str, _Told], int, list[str]]:
        """Trials by id, the first of each; how many came again, and which came otherwise."""
        told: dict[str, _Told] = {}
        twice, conflicts = 0, list[str]()
        for trial in trials:
            one = _told(self._experiment, trial)
            first = told.setdefault(one.id, one)
            if first is one:
                continue
            if first.says(one.texts):
                twice += 1
            else:
                conflicts.append(trial.identity)
        return told, twice, conflicts


def foreign_id(experiment: str, identity: str) -> str:
    """The id of an imported trial: 16 hex digits of its experiment and identity."""
    return hashlib.sha256(f"{experiment}\x00{identity}".encode()).hexdigest()[:16]


def _told(experiment: str, trial: ForeignTrial) -> _Told:
    id_ = foreign_id(experiment, trial.identity)
    records = tuple(
        AttemptRecord(
            version=1,
            attempt_id=attempt_id(id_, number),
            trial_id=id_,
            experiment=experiment,
            number=number,
            evidence=attempt.evidence,
            conditions=attempt.conditions,
            usage=attempt.usage,
            clocks=attempt.clocks,
            worker_version=__version__,
            origin=attempt.origin,
        )
        for number, attempt in enumerate(trial.attempts, start=1)
    )
    texts = tuple(record.model_dump_json(exclude_unset=True) for record in records)
    return _Told(id_, trial, records, texts)


def _stored(connection: Connection, trials: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The records of the trials that are there already, in the order of their attempts."""
    there: list[str] = []
    for some in batched(trials, LOOKUP):
        there += connection.scalars(select(TRIAL.c.id).where(TRIAL.c.id.in_(some)))
    texts: dict[str, tuple[str, ...]] = {id_: () for id_ in there}
    for some in batched(there, LOOKUP):
        query = (
            select(ATTEMPT.c.trial, ATTEMPT.c.record)
            .where(ATTEMPT.c.trial.in_(some))
            .order_by(ATTEMPT.c.number)
        )
        for trial, text in connection.execute(query):
            texts[trial] += (text,)
    return texts


def _write(connection: Connection, new: Sequence[_Told], nouns: ForeignNouns) -> None:
    trials: list[Row] = []
    attempts: list[Row] = []
    counted: list[tuple[int, Outcome]] = []
    planned: Counter[int] = Counter()
    for one in new:
        place = nouns.place(one.trial)
        outcomes = [classify(record.evidence) for record in one.records]
        accepted = None
        if outcomes and outcomes[-1].verdict != "cancelled":
            accepted = one.records[-1].attempt_id
            counted.append((place.cell, outcomes[-1]))
        planned[place.cell] += 1
        trials.append((one.id, nouns.experiment, accepted, *place))
        attempts += map(_attempt_row, one.records, one.texts, outcomes)
    insert_rows(connection, TRIAL, TRIALS, trials)
    insert_rows(connection, ATTEMPT, ATTEMPTS, attempts)
    if counted:
        count(connection, counted)
    more = ((more, cell) for cell, more in sorted(planned.items()))
    update_rows(connection, CELL, ("planned",), more, add=True)


def _attempt_row(record: AttemptRecord, text: str, outcome: Outcome) -> Row:
    return (
        record.attempt_id,
        record.experiment,
        record.trial_id,
        record.number,
        record.conditions.node,
        "ended",
        record.clocks.ended_at,
        text,
        *judgement(outcome),
    )
