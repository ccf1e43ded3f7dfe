"""Trials that others ran, taken into the ledger in bulk.

A trial is known by its identity: read again, from the same place or from a copy, it changes
nothing. All writes of one `transaction` stand or fall together, so that a file which turns out to
be broken leaves nothing behind.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

from sqlalchemy import Engine, select
from sqlalchemy.engine import Connection

from ..foreign import ForeignTrial
from .bulk import among, insert_rows, update_rows
from .events import write_event
from .foreign_nouns import ForeignNouns, Place
from .foreign_told import ATTEMPTS, ToldTrial, told_trial
from .ingest import count
from .tables import ATTEMPT, CELL, TRIAL
from .writing import writing

TRIALS = ("id", "experiment", "accepted", *Place._fields)


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

    def told(self, trials: Iterable[ForeignTrial]) -> list[ToldTrial]:
        """Trials made ready to be taken in; nothing is written yet."""
        return [told_trial(self._experiment, trial) for trial in trials]

    def take(self, trials: Iterable[ToldTrial]) -> Adopted:
        """Take trials in; call it inside a `transaction`."""
        assert self._connection is not None, "take() belongs inside transaction()"
        assert self._nouns is not None
        told, twice, conflicts = _distinct(trials)
        stored = _stored(self._connection, told)
        for id_ in stored.keys() & told.keys():
            if told[id_].says(stored[id_]):
                twice += 1
            else:
                conflicts.append(told[id_].identity)
        new = [one for id_, one in told.items() if id_ not in stored]
        if new:
            places = self._nouns.grow(self._connection, new)
            _write(self._connection, self._experiment, new, places)
        for identity in conflicts:
            write_event(self._connection, self._experiment, "conflicting import", identity)
        return Adopted(len(new), twice, tuple(conflicts))


def _distinct(trials: Iterable[ToldTrial]) -> tuple[dict[str, ToldTrial], int, list[str]]:
    """Trials by id, the first of each; how many came again, and which came otherwise."""
    told: dict[str, ToldTrial] = {}
    twice, conflicts = 0, list[str]()
    for one in trials:
        first = told.setdefault(one.id, one)
        if first is one:
            continue
        if first.says(one.texts):
            twice += 1
        else:
            conflicts.append(one.identity)
    return told, twice, conflicts


def _stored(connection: Connection, trials: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The records of the trials that are there already, in the order of their attempts."""
    there = select(TRIAL.c.id).where(among(connection, TRIAL.c.id, trials))
    texts: dict[str, tuple[str, ...]] = {id_: () for id_ in connection.scalars(there)}
    if texts:
        records = (
            select(ATTEMPT.c.trial, ATTEMPT.c.record)
            .where(among(connection, ATTEMPT.c.trial, texts))
            .order_by(ATTEMPT.c.number)
        )
        for trial, text in connection.execute(records):
            texts[trial] += (text,)
    return texts


def _write(
    connection: Connection, experiment: str, new: Sequence[ToldTrial], places: Sequence[Place]
) -> None:
    placed = list(zip(new, places, strict=True))
    rows = ((one.id, experiment, one.accepted, *place) for one, place in placed)
    insert_rows(connection, TRIAL, TRIALS, rows)
    insert_rows(connection, ATTEMPT, ATTEMPTS, chain.from_iterable(one.attempts for one in new))
    counted = [(place.cell, one.outcome) for one, place in placed if one.outcome is not None]
    if counted:
        count(connection, counted)
    planned = Counter(place.cell for place in places)
    more = ((more, cell) for cell, more in sorted(planned.items()))
    update_rows(connection, CELL, ("planned",), more, add=True)
