"""Enrolment: a plan is written down once; the same plan again changes nothing."""

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import batched

from sqlalchemy import Engine, insert, select, update
from sqlalchemy.engine import Connection

from ... import __version__
from ..errors import LedgerError
from ..experiment import Experiment
from ..task import Task
from ..trial import CellKey
from ..waves import PlannedTrial, Wave
from .bulk import among, insert_if_absent, insert_rows, update_rows
from .documents import value_of
from .tables import BAND, CELL, ENTRY, EXPERIMENT, TASK, TRIAL, WAVE
from .writing import writing

CHUNK = 5_000
COLUMNS = ("id", "experiment", "cell", "sample", "wave", "position")


def enrol(
    engine: Engine,
    experiment: Experiment,
    tasks: Sequence[Task],
    waves: Iterable[Wave],
    *,
    left_out: Sequence[str] = (),
    blobs: str = "",
) -> bool:
    """Write an experiment's plan down; True if it is new, False if it was there already.

    Args:
        left_out: tasks that were found and do not run, each with its reason.
        blobs: where a fleet finds the folders of its tasks packed; "": on this machine.
    Raises:
        LedgerError: an experiment of that name is there and means something else; says what
            differs. Nothing is written then.
    """
    fingerprint = fingerprint_of(experiment, tasks)
    with writing(engine) as connection:
        if not _write_experiment(connection, experiment, fingerprint, left_out, blobs):
            query = select(EXPERIMENT.c.fingerprint, EXPERIMENT.c.document)
            known = connection.execute(query.where(EXPERIMENT.c.name == experiment.name)).one()
            if known.fingerprint != fingerprint and not _same(
                connection, experiment, tasks, known.document
            ):
                raise LedgerError(_difference(experiment, known.document))
            _write_what_may_change(connection, experiment, known.document)
            return False
        _write_nouns(connection, experiment, tasks)
        _write_trials(connection, experiment.name, waves)
    return True


def fingerprint_of(experiment: Experiment, tasks: Sequence[Task]) -> str:
    """What an experiment means, as a hash: its design and the contents of its tasks."""
    meaning = [design_of(experiment), *sorted(f"{t.name} {t.content_hash}" for t in tasks)]
    return hashlib.sha256("\n".join(meaning).encode()).hexdigest()


def _same(
    connection: Connection, experiment: Experiment, tasks: Sequence[Task], document: str
) -> bool:
    """Whether the store, made by an older release that knew fewer settings, holds the same."""
    query = select(TASK.c.name, TASK.c.content_hash).where(TASK.c.experiment == experiment.name)
    before = {name: content_hash for name, content_hash in connection.execute(query)}
    same_tasks = before == {task.name: task.content_hash for task in tasks}
    known = value_of(Experiment, document, f"the store's experiment {experiment.name}")
    return same_tasks and design_of(known) == design_of(experiment)


def design_of(experiment: Experiment) -> str:
    """An experiment as JSON without what may change while it runs: its budget, how its providers
    are reached. What an experiment without models has nothing of is left out, too.
    """
    document = json.loads(experiment.model_dump_json())
    document["run"].pop("budget_usd")
    document["providers"] = {name: one.dialect for name, one in experiment.providers.items()}
    if not experiment.models:
        for key in ("providers", "models", "limits"):
            del document[key]
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _write_what_may_change(connection: Connection, experiment: Experiment, before: str) -> None:
    """Its budget, and how its providers are reached; the rest is the same already."""
    document = experiment.model_dump_json()
    if document != before:
        named = update(EXPERIMENT).where(EXPERIMENT.c.name == experiment.name)
        connection.execute(named.values(document=document))


def _difference(experiment: Experiment, document: str) -> str:
    before = value_of(Experiment, document, f"the store's experiment {experiment.name}")
    fields = Experiment.model_fields
    keys = [key for key in fields if getattr(before, key) != getattr(experiment, key)]
    what = ", ".join(keys) if keys else "the contents of its tasks"
    return (
        f"experiment {experiment.name}: the store holds one of that name that differs in {what}; "
        "give this one another name or another store (--store); `run` also takes another folder "
        "(--out) or starts over (--fresh)"
    )


def _write_experiment(
    connection: Connection,
    experiment: Experiment,
    fingerprint: str,
    left_out: Sequence[str],
    blobs: str,
) -> bool:
    """Whether it is new. One who enrols it at the same moment waits here for the other's end."""
    return insert_if_absent(
        connection,
        EXPERIMENT,
        {
            "name": experiment.name,
            "created_at": time.time(),
            "fingerprint": fingerprint,
            "document": experiment.model_dump_json(),
            "tasks_left_out": json.dumps(list(left_out)),
            "blobs": blobs,
            "version": __version__,
        },
    )


def _write_nouns(connection: Connection, experiment: Experiment, tasks: Sequence[Task]) -> None:
    of = {"experiment": experiment.name}
    connection.execute(
        insert(TASK),
        [
            of | {"name": t.name, "content_hash": t.content_hash, "document": t.model_dump_json()}
            for t in tasks
        ],
    )
    connection.execute(
        insert(ENTRY),
        [
            of
            | {
                "name": e.name,
                "agent": e.agent,
                "model": e.model,
                "document": e.model_dump_json(),
            }
            for e in experiment.entries
        ],
    )
    connection.execute(
        insert(BAND),
        [
            of | {"name": b.name, "place": place, "document": b.model_dump_json()}
            for place, b in enumerate(experiment.bands)
        ],
    )


def _write_trials(connection: Connection, experiment: str, waves: Iterable[Wave]) -> None:
    """Write waves one after the other; no more than `CHUNK` trials are held at a time."""
    cells = _Cells(connection, experiment)
    for wave in waves:
        row = {"experiment": experiment, "number": wave.number, "levels": json.dumps(wave.levels)}
        connection.execute(insert(WAVE), row)
        for chunk in batched(wave.trials, CHUNK):
            cells.learn(chunk)
            insert_rows(connection, TRIAL, COLUMNS, (cells.row(trial) for trial in chunk))
    update_rows(
        connection, CELL, ("planned",), ((count, id_) for id_, count in cells.planned.items())
    )


@dataclass(slots=True)
class _Cells:
    """The cells of an experiment that is being written: ids by key, planned trials by id."""

    connection: Connection
    experiment: str
    ids: dict[CellKey, int] = field(default_factory=dict)
    planned: dict[int, int] = field(default_factory=dict)

    def learn(self, trials: Iterable[PlannedTrial]) -> None:
        """Write down the cells of these trials that are not there yet."""
        met = dict.fromkeys(trial.key.cell for trial in trials)
        texts = {cell.text: cell for cell in met if cell not in self.ids}
        if not texts:
            return
        self.connection.execute(insert(CELL), [self._cell(c, text) for text, c in texts.items()])
        keys = among(self.connection, CELL.c.key, texts)
        query = select(CELL.c.key, CELL.c.id).where(CELL.c.experiment == self.experiment, keys)
        self.ids |= {texts[text]: id_ for text, id_ in self.connection.execute(query)}

    def row(self, trial: PlannedTrial) -> tuple[object, ...]:
        """A trial as its columns; counted in its cell."""
        id_ = self.ids[trial.key.cell]
        self.planned[id_] = self.planned.get(id_, 0) + 1
        return trial.id, self.experiment, id_, trial.key.sample, trial.wave, trial.position

    def _cell(self, cell: CellKey, text: str) -> dict[str, str]:
        row = {"experiment": self.experiment, "key": text, "task": cell.task, "entry": cell.entry}
        return row | {"band": cell.band, "levels": json.dumps(cell.levels)}
