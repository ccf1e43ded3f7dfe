"""Rounds in the ledger: a round is one sample of every cell."""

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Engine, case, func, select

from .tables import ATTEMPT, CELL, TRIAL

STOPPED = "stopped early"  # the kind of event of a run that saw enough


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """Counts of one task, entry and band in one round, over the levels of further factors."""

    task: str
    entry: str
    band: str
    sample: int
    n: int
    passed: int
    infra_errors: int
    reward_sum: float
    reward_sumsq: float


def open_by_round(engine: Engine, experiment: str) -> Counter[int]:
    """How many trials of each round have no outcome yet; complete rounds are there with 0."""
    query = (
        select(TRIAL.c.sample, func.count() - func.count(TRIAL.c.accepted))
        .where(TRIAL.c.experiment == experiment)
        .group_by(TRIAL.c.sample)
    )
    with engine.connect() as connection:
        return Counter({sample: waiting for sample, waiting in connection.execute(query)})


def round_counts(
    engine: Engine, experiment: str, rounds: int, after: int = -1
) -> tuple[RoundCounts, ...]:
    """Counts of accepted outcomes in the first `rounds` rounds, those up to `after` left out."""
    infra = ATTEMPT.c.verdict == "infra_error"
    reward = case((infra, 0.0), else_=func.coalesce(ATTEMPT.c.reward, 0.0))
    keys = (CELL.c.task, CELL.c.entry, CELL.c.band, TRIAL.c.sample)
    query = (
        select(
            *keys,
            func.count(),
            func.sum(case((ATTEMPT.c.verdict == "passed", 1), else_=0)),
            func.sum(case((infra, 1), else_=0)),
            func.sum(reward),
            func.sum(reward * reward),
        )
        .join_from(TRIAL, ATTEMPT, TRIAL.c.accepted == ATTEMPT.c.id)
        .join(CELL, TRIAL.c.cell == CELL.c.id)
        .where(TRIAL.c.experiment == experiment, TRIAL.c.sample < rounds, TRIAL.c.sample > after)
        .group_by(*keys)
    )
    with engine.connect() as connection:
        return tuple(RoundCounts(*row) for row in connection.execute(query))


def last_wave_begun(engine: Engine, experiment: str) -> int:
    """The highest wave of which a trial was ever sent; -1 before the first."""
    query = (
        select(func.max(TRIAL.c.wave))
        .join_from(TRIAL, ATTEMPT, TRIAL.c.id == ATTEMPT.c.trial)
        .where(TRIAL.c.experiment == experiment)
    )
    with engine.connect() as connection:
        wave = connection.scalar(query)
    return -1 if wave is None else int(wave)
