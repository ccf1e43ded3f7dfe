"""The nouns of an imported experiment: tasks, entries, bands, runs and cells, grown as they come.

A run of others is a wave of ours: what was set for the whole of it was set per wave. Samples of a
cell are numbered in the order in which they come.
"""

import time
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import NamedTuple

from sqlalchemy import Table, insert, select, update
from sqlalchemy.engine import Connection

from ... import __version__
from ..conditions import UNRECORDED
from ..experiment import Experiment
from ..trial import CellKey
from ..waves import Levels
from .foreign_known import FINGERPRINT, Key, Known, known, to_json
from .foreign_told import ToldTrial
from .tables import BAND, CELL, ENTRY, EXPERIMENT, TASK, WAVE

LOOKUP = 500  # keys per query: below every database's limit of parameters


class Place(NamedTuple):
    """Where a new trial stands: its cell's id, its sample, its wave, its place in the order."""

    cell: int
    sample: int
    wave: int
    position: int


class ForeignNouns:
    """What an imported experiment holds, kept in step with the ledger inside one transaction.

    Args:
        experiment: its name; made with the first trials if it is not there.
        factors: names of its further factors, where it is new; the first import decides them.
    Raises:
        LedgerError: an experiment of that name was run here, not imported.
    """

    def __init__(self, connection: Connection, experiment: str, factors: Sequence[str]) -> None:
        self.experiment = experiment
        self._known: Known = known(connection, experiment)
        if self._known.factors is None:
            self._known.factors = tuple(factors)
        self._trials = sum(self._known.samples.values())
        self._levels: dict[Levels, Levels] = {}  # as told, as the experiment's cells have them

    def grow(self, connection: Connection, trials: Sequence[ToldTrial]) -> list[Place]:
        """The places of new trials; every noun of theirs that is not there yet is written down."""
        keys = [self._key(trial) for trial in trials]
        # Of a cell that is there all nouns are.
        fresh = {k: trial for k, trial in zip(keys, trials) if k not in self._known.cells}
        if fresh:
            self._grow_entries_and_bands(connection, list(fresh.values()))
            self._grow_tasks(connection, list(fresh.values()))
            self._grow_cells(connection, sorted(fresh))
        self._grow_waves(connection, trials)
        return [self._place(trial, key) for trial, key in zip(trials, keys)]

    def _place(self, trial: ToldTrial, key: Key) -> Place:
        cell = self._known.cells[key]
        sample = self._known.samples.get(cell, 0)
        self._known.samples[cell] = sample + 1
        self._trials += 1
        wave = self._known.waves[trial.entry.name, trial.run]
        return Place(cell, sample, wave, self._trials - 1)

    def _key(self, trial: ToldTrial) -> Key:
        levels = self._levels.get(trial.levels)
        if levels is None:
            told = dict(trial.levels)
            levels = tuple((name, told.get(name, UNRECORDED)) for name in self._known.factors or ())
            self._levels[trial.levels] = levels
        return trial.task.name, trial.entry.name, trial.band.name, levels

    def _grow_entries_and_bands(self, connection: Connection, trials: Sequence[ToldTrial]) -> None:
        there = self._known
        entries = {t.entry.name: t.entry for t in trials if t.entry.name not in there.entries}
        bands = {t.band.name: t.band for t in trials if t.band.name not in there.bands}
        if there.exists and not entries and not bands:
            return
        places = {name: len(there.bands) + k for k, name in enumerate(bands)}
        there.entries |= entries
        there.bands |= bands
        self._write_experiment(connection)
        self._insert(
            connection,
            ENTRY,
            (
                {"name": n, "agent": e.agent, "model": e.model, "document": e.model_dump_json()}
                for n, e in entries.items()
            ),
        )
        self._insert(
            connection,
            BAND,
            (
                {"name": n, "place": places[n], "document": b.model_dump_json()}
                for n, b in bands.items()
            ),
        )

    def _write_experiment(self, connection: Connection) -> None:
        document = Experiment(
            name=self.experiment,
            tasks=(FINGERPRINT,),
            samples=1,
            entries=tuple(self._known.entries.values()),
            bands=tuple(self._known.bands.values()),
        ).model_dump_json()
        if self._known.exists:
            named = EXPERIMENT.c.name == self.experiment
            connection.execute(update(EXPERIMENT).where(named).values(document=document))
            return
        self._known.exists = True
        row: dict[str, object] = {"name": self.experiment, "created_at": time.time()}
        row |= {"fingerprint": FINGERPRINT, "document": document, "version": __version__}
        connection.execute(insert(EXPERIMENT), row | {"tasks_left_out": "[]"})

    def _grow_tasks(self, connection: Connection, trials: Sequence[ToldTrial]) -> None:
        new = {t.task.name: t.task for t in trials if t.task.name not in self._known.tasks}
        self._known.tasks |= new.keys()
        self._insert(
            connection,
            TASK,
            (
                {"name": n, "content_hash": t.content_hash, "document": t.model_dump_json()}
                for n, t in new.items()
            ),
        )

    def _grow_waves(self, connection: Connection, trials: Sequence[ToldTrial]) -> None:
        runs = {(t.entry.name, t.run): t.levels for t in trials}
        new = {run: levels for run, levels in runs.items() if run not in self._known.waves}
        numbers = {run: len(self._known.waves) + k for k, run in enumerate(new)}
        self._known.waves |= numbers
        self._insert(
            connection,
            WAVE,
            (
                {
                    "number": numbers[run],
                    "levels": to_json([("entry", run[0]), ("run", run[1]), *levels]),
                }
                for run, levels in new.items()
            ),
        )

    def _grow_cells(self, connection: Connection, keys: Sequence[Key]) -> None:
        texts = {_text(key): key for key in keys}
        self._insert(
            connection,
            CELL,
            (
                {
                    "key": text,
                    "task": task,
                    "entry": entry,
                    "band": band,
                    "levels": to_json(levels),
                    "planned": 0,
                }
                for text, (task, entry, band, levels) in texts.items()
            ),
        )
        for some in batched(texts, LOOKUP):
            query = select(CELL.c.key, CELL.c.id).where(
                CELL.c.experiment == self.experiment, CELL.c.key.in_(some)
            )
            for text, id_ in connection.execute(query):
                self._known.cells[texts[text]] = id_

    def _insert(
        self, connection: Connection, table: Table, rows: Iterable[dict[str, object]]
    ) -> None:
        made = [{"experiment": self.experiment} | row for row in rows]
        if made:
            connection.execute(insert(table), made)


def _text(key: Key) -> str:
    task, entry, band, levels = key
    return CellKey(task=task, entry=entry, band=band, levels=levels).text
