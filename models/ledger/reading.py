"""Reading back: counts per cell, and the attempts behind them, as plain values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, func, select
from sqlalchemy.engine import RowMapping

from ..band import Band
from ..errors import LedgerError
from ..experiment import Experiment
from ..message import AttemptRecord
from ..node import NodeProfile
from ..task import Task
from .attempts import REPLAYS
from .documents import value_of
from .tables import (
    ATTEMPT,
    BAND,
    CELL,
    EVENT,
    EXPERIMENT,
    NODE,
    NODE_PROFILE,
    TASK,
    TRIAL,
)


@dataclass(frozen=True, slots=True)
class CellCounts:
    """One cell's counts; `planned` trials, `n` of them with an outcome."""

    task: str
    entry: str
    band: str
    levels: Mapping[str, str]
    planned: int
    n: int
    passed: int
    infra_errors: int
    collateral: int
    reward_sum: float
    reward_sumsq: float


@dataclass(frozen=True, slots=True)
class AttemptLine:
    """One attempt with the key of its trial; `record` is None where none came home.

    A kill replay names the attempt that was killed and the ceiling at which it ran instead.
    """

    id: str
    trial: str
    number: int
    task: str
    entry: str
    band: str
    levels: Mapping[str, str]
    sample: int
    wave: int
    node: str
    accepted: bool
    state: str
    verdict: str | None
    cause: str | None
    oom: str | None
    reward: float | None
    rule: str | None
    detail: str | None
    placed_at: float | None
    replay_of: str | None
    replay_in: str | None
    record: AttemptRecord | None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to the run."""

    at: float
    kind: str
    subject: str


def experiments(engine: Engine) -> tuple[str, ...]:
    """Names of the enrolled experiments, oldest first."""
    with engine.connect() as connection:
        query = select(EXPERIMENT.c.name).order_by(EXPERIMENT.c.created_at)
        return tuple(connection.scalars(query))


def experiment(engine: Engine, name: str) -> Experiment:
    """The experiment as it was enrolled.

    Raises:
        LedgerError: there is none of that name; lists those there are. Unreadable: another release
            wrote it.
    """
    with engine.connect() as connection:
        document = connection.scalar(select(EXPERIMENT.c.document).where(EXPERIMENT.c.name == name))
    if document is None:
        known = ", ".join(experiments(engine)) or "none"
        raise LedgerError(f"no experiment {name!r} in this store; it holds: {known}")
    return value_of(Experiment, document, f"experiment {name}")


def left_out(engine: Engine, name: str) -> tuple[str, ...]:
    """Tasks that were found but left out of the experiment, each with its reason."""
    with engine.connect() as connection:
        text = connection.scalar(
            select(EXPERIMENT.c.tasks_left_out).where(EXPERIMENT.c.name == name)
        )
    return tuple(json.loads(text or "[]"))


def tasks(engine: Engine, name: str) -> tuple[Task, ...]:
    """The experiment's tasks, as they were loaded."""
    with engine.connect() as connection:
        query = select(TASK.c.document).where(TASK.c.experiment == name).order_by(TASK.c.name)
        whose = f"a task of experiment {name}"
        return tuple(value_of(Task, text, whose) for text in connection.scalars(query))


def bands(engine: Engine, name: str) -> tuple[Band, ...]:
    """The experiment's bands, in the order of reports."""
    with engine.connect() as connection:
        query = select(BAND.c.document).where(BAND.c.experiment == name).order_by(BAND.c.place)
        whose = f"a band of experiment {name}"
        return tuple(value_of(Band, text, whose) for text in connection.scalars(query))


def cell_counts(engine: Engine, name: str) -> tuple[CellCounts, ...]:
    """The counts of every cell, also of those that have no outcome yet."""
    columns = (
        CELL.c.task,
        CELL.c.entry,
        CELL.c.band,
        CELL.c.levels,
        CELL.c.planned,
        CELL.c.n,
        CELL.c.passed,
        CELL.c.infra_errors,
        CELL.c.collateral,
        CELL.c.reward_sum,
        CELL.c.reward_sumsq,
    )
    with engine.connect() as connection:
        query = select(*columns).where(CELL.c.experiment == name).order_by(CELL.c.id)
        return tuple(
            CellCounts(*row[:3], dict(json.loads(row[3])), *row[4:])
            for row in connection.execute(query)
        )


def attempts(engine: Engine, name: str, *, trial: str | None = None) -> Iterator[AttemptLine]:
    """Every attempt, in the order of dispatch of their trials, streamed.

    Args:
        trial: the id of a trial: its attempts alone.
    """
    own = ("id", "trial", "number", "node", "state", "verdict", "cause", "oom", "reward", "rule")
    query = (
        select(
            *(ATTEMPT.c[column] for column in (*own, "detail", "placed_at", *REPLAYS, "record")),
            *(CELL.c[column] for column in ("task", "entry", "band", "levels")),
            TRIAL.c.sample,
            TRIAL.c.wave,
            (TRIAL.c.accepted == ATTEMPT.c.id).label("accepted"),
        )
        .join_from(ATTEMPT, TRIAL, ATTEMPT.c.trial == TRIAL.c.id)
        .join(CELL, TRIAL.c.cell == CELL.c.id)
        .where(ATTEMPT.c.experiment == name)
        .order_by(TRIAL.c.position, ATTEMPT.c.number)
    )
    if trial is not None:
        query = query.where(ATTEMPT.c.trial == trial)
    with engine.connect() as connection:
        streamed = connection.execution_options(yield_per=500)
        with streamed.execute(query) as found:  # closed also where it is left half read
            yield from map(_line, found.mappings())


def _line(row: RowMapping) -> AttemptLine:
    values = dict(row)
    record = values.pop("record")
    return AttemptLine(
        **values
        | {
            "levels": dict(json.loads(values["levels"])),
            "accepted": bool(values["accepted"]),
            "record": AttemptRecord.decode(record) if record else None,
        }
    )


def progress(engine: Engine, name: str) -> tuple[int, int]:
    """(trials with an outcome, trials planned)."""
    with engine.connect() as connection:
        row = connection.execute(
            select(func.count(TRIAL.c.accepted), func.count()).where(TRIAL.c.experiment == name)
        ).one()
        return int(row[0]), int(row[1])


def node_profiles(engine: Engine) -> dict[str, NodeProfile]:
    """The last profile of every node, by node id."""
    with engine.connect() as connection:
        query = select(NODE.c.id, NODE_PROFILE.c.document).join(
            NODE_PROFILE, NODE.c.profile == NODE_PROFILE.c.hash
        )
        return {
            id_: NodeProfile.model_validate_json(text) for id_, text in connection.execute(query)
        }


def events(engine: Engine, name: str) -> tuple[Event, ...]:
    """What happened to the run, in order."""
    with engine.connect() as connection:
        query = (
            select(EVENT.c.at, EVENT.c.kind, EVENT.c.subject)
            .where(EVENT.c.experiment == name)
            .order_by(EVENT.c.id)
        )
        return tuple(Event(*row) for row in connection.execute(query))
