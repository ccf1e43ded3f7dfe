"""Enrolment: a plan is written down once; the same plan again changes nothing."""

import hashlib
import json
import time
from collections.abc import Iterable, Sequence
from itertools import batched
from typing import Any

from sqlalchemy import Engine, insert, select
from sqlalchemy.engine import Connection

from ... import __version__
from ..errors import LedgerError
from ..experiment import Experiment
from ..task import Task
from ..trial import CellKey
from ..waves import PlannedTrial, Wave
from .tables import BAND, CELL, ENTRY, EXPERIMENT, TASK, TRIAL, WAVE

CHUNK = 5_000


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
    with engine.begin() as connection:
        known = connection.execute(
            select(EXPERIMENT.c.fingerprint, EXPERIMENT.c.document).where(
                EXPERIMENT.c.name == experiment.name
            )
        ).one_or_none()
        if known is not None:
            if known.fingerprint != fingerprint:
                raise LedgerError(_difference(experiment, known.document))
            return False
        _write_nouns(connection, experiment, tasks, fingerprint, left_out, blobs)
        _write_trials(connection, experiment.name, list(waves))
    return True


def fingerprint_of(experiment: Experiment, tasks: Sequence[Task]) -> str:
    """What an experiment means, as a hash: its design and the contents of its tasks."""
    meaning = [experiment.model_dump_json(), *sorted(f"{t.name} {t.content_hash}" for t in tasks)]
    return hashlib.sha256("\n".join(meaning).encode()).hexdigest()


def _difference(experiment: Experiment, document: str) -> str:
    before, now = json.loads(document), json.loads(experiment.model_dump_json())
    keys = [key for key in now if before.get(key) != now[key]]
    what = ", ".join(keys) if keys else "the contents of its tasks"
    return (
        f"experiment {experiment.name}: the store holds one of that name that differs in {what}; "
        "give this one another name, another store (--store), or start over with --fresh"
    )


def _write_nouns(
    connection: Connection,
    experiment: Experiment,
    tasks: Sequence[Task],
    fingerprint: str,
    left_out: Sequence[str],
    blobs: str,
) -> None:
    connection.execute(
        insert(EXPERIMENT),
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


def _write_trials(connection: Connection, experiment: str, waves: Sequence[Wave]) -> None:
    connection.execute(
        insert(WAVE),
        [
            {"experiment": experiment, "number": w.number, "levels": json.dumps(w.levels)}
            for w in waves
        ],
    )
    cells = _write_cells(connection, experiment, waves)
    for wave in waves:
        for chunk in batched(wave.trials, CHUNK):
            connection.execute(
                insert(TRIAL), [_trial_row(experiment, trial, cells) for trial in chunk]
            )


def _write_cells(
    connection: Connection, experiment: str, waves: Sequence[Wave]
) -> dict[CellKey, int]:
    planned: dict[CellKey, int] = {}
    for wave in waves:
        for trial in wave.trials:
            planned[trial.key.cell] = planned.get(trial.key.cell, 0) + 1
    for chunk in batched(planned.items(), CHUNK):
        connection.execute(
            insert(CELL),
            [
                {
                    "experiment": experiment,
                    "key": cell.text,
                    "task": cell.task,
                    "entry": cell.entry,
                    "band": cell.band,
                    "levels": json.dumps(cell.levels),
                    "planned": count,
                }
                for cell, count in chunk
            ],
        )
    rows = connection.execute(select(CELL.c.key, CELL.c.id).where(CELL.c.experiment == experiment))
    ids = {key: id_ for key, id_ in rows}
    return {cell: ids[cell.text] for cell in planned}


def _trial_row(experiment: str, trial: PlannedTrial, cells: dict[CellKey, int]) -> dict[str, Any]:
    return {
        "id": trial.id,
        "experiment": experiment,
        "cell": cells[trial.key.cell],
        "sample": trial.key.sample,
        "wave": trial.wave,
        "position": trial.position,
        "accepted": None,
    }
