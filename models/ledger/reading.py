"""Reading back: counts per cell, and the attempts behind them, as plain values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from ..band import Band
from ..errors import LedgerError
from ..experiment import Experiment
from ..message import AttemptRecord
from ..node import NodeProfile
from ..task import Task
from .rows import (
    AttemptRow,
    BandRow,
    CellRow,
    EventRow,
    ExperimentRow,
    NodeProfileRow,
    NodeRow,
    TaskRow,
    TrialRow,
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
    """One attempt with the key of its trial; `record` is None where none came home."""

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
    placed_at: float
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
        query = select(ExperimentRow.name).order_by(ExperimentRow.created_at)  # type: ignore[arg-type]
        return tuple(connection.scalars(query))


def experiment(engine: Engine, name: str) -> Experiment:
    """The experiment as it was enrolled.

    Raises:
        LedgerError: there is none of that name; lists those there are.
    """
    with engine.connect() as connection:
        document = connection.scalar(
            select(ExperimentRow.document).where(ExperimentRow.name == name)  # type: ignore[arg-type]
        )
    if document is None:
        known = ", ".join(experiments(engine)) or "none"
        raise LedgerError(f"no experiment {name!r} in this store; it holds: {known}")
    return Experiment.model_validate_json(document)


def left_out(engine: Engine, name: str) -> tuple[str, ...]:
    """Tasks that were found but left out of the experiment, each with its reason."""
    with engine.connect() as connection:
        text = connection.scalar(
            select(ExperimentRow.tasks_left_out).where(ExperimentRow.name == name)  # type: ignore[arg-type]
        )
    return tuple(json.loads(text or "[]"))


def tasks(engine: Engine, name: str) -> tuple[Task, ...]:
    """The experiment's tasks, as they were loaded."""
    with engine.connect() as connection:
        query = (
            select(TaskRow.document).where(TaskRow.experiment == name).order_by(TaskRow.name)  # type: ignore[arg-type]
        )
        return tuple(Task.model_validate_json(text) for text in connection.scalars(query))


def bands(engine: Engine, name: str) -> tuple[Band, ...]:
    """The experiment's bands, in the order of reports."""
    with engine.connect() as connection:
        query = (
            select(BandRow.document).where(BandRow.experiment == name).order_by(BandRow.place)  # type: ignore[arg-type]
        )
        return tuple(Band.model_validate_json(text) for text in connection.scalars(query))


def cell_counts(engine: Engine, name: str) -> tuple[CellCounts, ...]:
    """The counts of every cell, also of those that have no outcome yet."""
    columns = (
        CellRow.task,
        CellRow.entry,
        CellRow.band,
        CellRow.levels,
        CellRow.planned,
        CellRow.n,
        CellRow.passed,
        CellRow.infra_errors,
        CellRow.collateral,
        CellRow.reward_sum,
        CellRow.reward_sumsq,
    )
    with engine.connect() as connection:
        query = select(*columns).where(CellRow.experiment == name).order_by(CellRow.id)  # type: ignore[call-overload]
        return tuple(
            CellCounts(*row[:3], dict(json.loads(row[3])), *row[4:])
            for row in connection.execute(query)
        )


def attempts(engine: Engine, name: str) -> Iterator[AttemptLine]:
    """Every attempt, in the order of dispatch of their trials, streamed."""
    query = (
        select(AttemptRow, TrialRow, CellRow)
        .join(TrialRow, AttemptRow.trial == TrialRow.id)  # type: ignore[arg-type]
        .join(CellRow, TrialRow.cell == CellRow.id)  # type: ignore[arg-type]
        .where(AttemptRow.experiment == name)  # type: ignore[arg-type]
        .order_by(TrialRow.position, AttemptRow.number)  # type: ignore[arg-type]
    )
    from sqlmodel import Session

    with Session(engine) as session:
        for attempt, trial, cell in session.execute(query).yield_per(500):
            yield AttemptLine(
                id=attempt.id,
                trial=trial.id,
                number=attempt.number,
                task=cell.task,
                entry=cell.entry,
                band=cell.band,
                levels=dict(json.loads(cell.levels)),
                sample=trial.sample,
                wave=trial.wave,
                node=attempt.node,
                accepted=trial.accepted == attempt.id,
                state=attempt.state,
                verdict=attempt.verdict,
                cause=attempt.cause,
                oom=attempt.oom,
                reward=attempt.reward,
                rule=attempt.rule,
                detail=attempt.detail,
                placed_at=attempt.placed_at,
                record=AttemptRecord.decode(attempt.record) if attempt.record else None,
            )


def progress(engine: Engine, name: str) -> tuple[int, int]:
    """(trials with an outcome, trials planned)."""
    with engine.connect() as connection:
        row = connection.execute(
            select(func.count(TrialRow.accepted), func.count()).where(  # type: ignore[arg-type]
                TrialRow.experiment == name
            )
        ).one()
        return int(row[0]), int(row[1])


def node_profiles(engine: Engine) -> dict[str, NodeProfile]:
    """The last profile of every node, by node id."""
    with engine.connect() as connection:
        query = select(NodeRow.id, NodeProfileRow.document).join(  # type: ignore[call-overload]
            NodeProfileRow, NodeRow.profile == NodeProfileRow.hash
        )
        return {id_: NodeProfile.model_validate_json(text) for id_, text in connection.execute(query)}


def events(engine: Engine, name: str) -> tuple[Event, ...]:
    """What happened to the run, in order."""
    with engine.connect() as connection:
        query = (
            select(EventRow.at, EventRow.kind, EventRow.subject)  # type: ignore[call-overload]
            .where(EventRow.experiment == name)
            .order_by(EventRow.id)
        )
        return tuple(Event(*row) for row in connection.execute(query))
