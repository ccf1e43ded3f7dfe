"""Attempts on their way out: what is owed, what is placed, what is given up.

A trial is owed while it has no accepted attempt and none under way.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, exists, func, select, update

from ..classify import classify
from ..evidence import Evidence
from ..outcome import Outcome
from ..trial import attempt_id
from .bulk import among, insert_rows, writable
from .events import write_event
from .tables import ATTEMPT, TRIAL
from .writing import writing

JUDGED = ("verdict", "cause", "oom", "reward", "rule", "detail", "rules_version")
PLACED = ("id", "experiment", "trial", "number", "node", "state", "placed_at")


@dataclass(frozen=True, slots=True)
class Owed:
    """A trial without an accepted outcome, and the number of its next attempt (from 1)."""

    id: str
    wave: int
    position: int
    next_number: int


@dataclass(frozen=True, slots=True)
class Placement:
    """An attempt under way: the trial as it was owed, and the node."""

    attempt: str
    node: str
    owed: Owed


def owed(
    engine: Engine, experiment: str, *, after: int = -1, limit: int | None = None
) -> tuple[Owed, ...]:
    """Trials without an accepted outcome and without an attempt under way, in order of dispatch.

    Args:
        after: only trials at a later position.
        limit: at most so many.
    """
    of_trial = ATTEMPT.c.trial == TRIAL.c.id
    # Asked per trial, so that a window costs what it holds, however many attempts there were.
    last = select(func.max(ATTEMPT.c.number)).where(of_trial).correlate(TRIAL).scalar_subquery()
    query = (
        select(TRIAL.c.id, TRIAL.c.wave, TRIAL.c.position, last)
        .where(
            TRIAL.c.experiment == experiment,
            TRIAL.c.accepted.is_(None),
            TRIAL.c.position > after,
            ~exists().where(of_trial, ATTEMPT.c.state == "placed"),
        )
        .order_by(TRIAL.c.position)
        .limit(limit)
    )
    with engine.connect() as connection:
        return tuple(
            Owed(id_, wave, position, (number or 0) + 1)
            for id_, wave, position, number in connection.execute(query)
        )


def place(
    engine: Engine, experiment: str, node: str, trials: Iterable[Owed], *, fence: int | None = None
) -> None:
    """Write down that the next attempt of each trial goes to a node.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    now = time.time()
    rows = [
        (
            attempt_id(trial.id, trial.next_number),
            *(experiment, trial.id, trial.next_number, node, "placed", now),
        )
        for trial in trials
    ]
    if rows:
        with writing(engine, fence) as connection:
            insert_rows(connection, ATTEMPT, PLACED, rows)


def under_way(engine: Engine, experiment: str) -> dict[str, Placement]:
    """The attempts that are placed and have no record, by attempt id."""
    query = (
        select(
            *(ATTEMPT.c[name] for name in ("id", "node", "trial", "number")),
            *(TRIAL.c[name] for name in ("wave", "position")),
        )
        .join_from(ATTEMPT, TRIAL, ATTEMPT.c.trial == TRIAL.c.id)
        .where(ATTEMPT.c.experiment == experiment, ATTEMPT.c.state == "placed")
        .order_by(ATTEMPT.c.placed_at)
    )
    with engine.connect() as connection:
        return {
            id_: Placement(id_, node, Owed(trial, wave, position, number))
            for id_, node, trial, number, wave, position in connection.execute(query)
        }


def abandon(
    engine: Engine,
    experiment: str,
    why: str,
    *,
    only: Sequence[str] | None = None,
    fence: int | None = None,
) -> int:
    """End placed attempts as `cancelled`; their trials are owed again. Returns how many.

    Args:
        only: these attempts; all of the experiment's unless given.
    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    outcome = classify(Evidence(cancelled=why))
    query = (
        update(ATTEMPT)
        .where(ATTEMPT.c.experiment == experiment, ATTEMPT.c.state == "placed")
        .values(state="ended", ended_at=time.time(), **judged(outcome))
    )
    with writing(engine, fence) as connection:
        if only is not None:
            query = query.where(among(connection, ATTEMPT.c.id, only))
        count = connection.execute(query).rowcount
        if count:
            write_event(connection, experiment, f"{count} attempts given up", why)
    return count


def judged(outcome: Outcome) -> dict[str, object]:
    """An outcome as the columns of an attempt, in the order of `JUDGED`."""
    return {
        "verdict": outcome.verdict,
        "cause": outcome.cause,
        "oom": outcome.oom,
        "reward": outcome.reward,
        "rule": outcome.rule,
        "detail": writable(outcome.detail),
        "rules_version": outcome.version,
    }
