"""What a fleet is at: experiments, their bands, nodes and causes, as they stand now.

Counts of trials come from the cells, which ingest keeps up; counts of attempts are counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from .foreign_known import FINGERPRINT
from .states import State
from .tables import ATTEMPT, CELL, EXPERIMENT, TRIAL

SUMMED = ("planned", "n", "passed", "infra_errors")


@dataclass(frozen=True, slots=True)
class Standing:
    """One experiment: trials `planned`, `n` of them with an outcome, attempts under way."""

    name: str
    state: State
    created_at: float
    planned: int
    n: int
    passed: int
    infra_errors: int
    under_way: int

    @property
    def word(self) -> str:
        """Its state, `done` where every trial has an outcome."""
        return "done" if self.n >= self.planned else self.state


@dataclass(frozen=True, slots=True)
class BandStanding:
    """One band of an experiment; `infra_errors` are among the `n` trials with an outcome."""

    band: str
    planned: int
    n: int
    passed: int
    infra_errors: int


@dataclass(frozen=True, slots=True)
class NodeStanding:
    """Attempts of an experiment in one band that ended on one node, infra errors among them."""

    node: str
    band: str
    ended: int
    infra_errors: int


def standings(engine: Engine, name: str | None = None) -> tuple[Standing, ...]:
    """Every experiment that was submitted or run here (imported ones are left out), oldest first.

    Args:
        name: that one alone.
    """
    sums = (func.coalesce(func.sum(CELL.c[c]), 0) for c in SUMMED)
    query = (
        select(EXPERIMENT.c.name, EXPERIMENT.c.state, EXPERIMENT.c.created_at, *sums)
        .join_from(EXPERIMENT, CELL, CELL.c.experiment == EXPERIMENT.c.name)
        .where(EXPERIMENT.c.fingerprint != FINGERPRINT)
        .group_by(EXPERIMENT.c.name, EXPERIMENT.c.state, EXPERIMENT.c.created_at)
        .order_by(EXPERIMENT.c.created_at, EXPERIMENT.c.name)
    )
    if name is not None:
        query = query.where(EXPERIMENT.c.name == name)
    placed = (
        select(ATTEMPT.c.experiment, func.count())
        .where(ATTEMPT.c.state == "placed")
        .group_by(ATTEMPT.c.experiment)
    )
    with engine.connect() as connection:
        under_way = {experiment: count for experiment, count in connection.execute(placed)}
        return tuple(
            Standing(
                name=row[0],
                state=row[1],
                created_at=row[2],
                under_way=under_way.get(row[0], 0),
                **dict(zip(SUMMED, map(int, row[3:]))),
            )
            for row in connection.execute(query)
        )


def band_standings(engine: Engine, name: str) -> dict[str, BandStanding]:
    """How the bands of an experiment stand, by band."""
    sums = (func.coalesce(func.sum(CELL.c[c]), 0) for c in SUMMED)
    query = select(CELL.c.band, *sums).where(CELL.c.experiment == name).group_by(CELL.c.band)
    with engine.connect() as connection:
        return {
            row[0]: BandStanding(row[0], **dict(zip(SUMMED, map(int, row[1:]))))
            for row in connection.execute(query)
        }


def node_standings(engine: Engine, name: str) -> tuple[NodeStanding, ...]:
    """Ended attempts of an experiment per node and band; cancelled ones are left out."""
    infra = func.count().filter(ATTEMPT.c.verdict == "infra_error")
    query = (
        select(ATTEMPT.c.node, CELL.c.band, func.count(), infra)
        .join_from(ATTEMPT, TRIAL, ATTEMPT.c.trial == TRIAL.c.id)
        .join(CELL, TRIAL.c.cell == CELL.c.id)
        .where(
            ATTEMPT.c.experiment == name,
            ATTEMPT.c.state == "ended",
            ATTEMPT.c.verdict != "cancelled",
        )
        .group_by(ATTEMPT.c.node, CELL.c.band)
        .order_by(ATTEMPT.c.node, CELL.c.band)
    )
    with engine.connect() as connection:
        return tuple(NodeStanding(*row) for row in connection.execute(query))


def infra_causes(engine: Engine, name: str) -> Mapping[str, int]:
    """Infra errors among an experiment's attempts by cause, the most frequent first."""
    count = func.count()
    query = (
        select(ATTEMPT.c.cause, count)
        .where(ATTEMPT.c.experiment == name, ATTEMPT.c.verdict == "infra_error")
        .group_by(ATTEMPT.c.cause)
        .order_by(count.desc(), ATTEMPT.c.cause)
    )
    with engine.connect() as connection:
        return {cause: number for cause, number in connection.execute(query)}


def ended_since(engine: Engine, name: str, since: float) -> int:
    """How many trials of an experiment got their outcome from an attempt that ended since then.

    Args:
        since: Unix seconds, held against the clocks of the nodes.
    """
    query = (
        select(func.count())
        .join_from(ATTEMPT, TRIAL, TRIAL.c.accepted == ATTEMPT.c.id)
        .where(ATTEMPT.c.experiment == name, ATTEMPT.c.ended_at >= since)
    )
    with engine.connect() as connection:
        return connection.scalar(query) or 0
