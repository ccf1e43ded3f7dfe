"""Attempts on their way out: what is owed, what is placed, what is given up.

A trial is owed while it has no accepted attempt and none under way.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, func, insert, select, update

from ..classify import classify
from ..evidence import Evidence
from ..outcome import Outcome
from ..trial import attempt_id
from .events import write_event
from .tables import ATTEMPT, TRIAL


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
    last = (
        select(
            ATTEMPT.c.trial,
            func.max(ATTEMPT.c.number).label("number"),
            func.max(ATTEMPT.c.state).label("state"),  # "placed" sorts after "ended"
        )
        .where(ATTEMPT.c.experiment == experiment)
        .group_by(ATTEMPT.c.trial)
        .subquery()
    )
    query = (
        select(TRIAL.c.id, TRIAL.c.wave, TRIAL.c.position, last.c.number)
        .join_from(TRIAL, last, TRIAL.c.id == last.c.trial, isouter=True)
        .where(
            TRIAL.c.experiment == experiment,
            TRIAL.c.accepted.is_(None),
            TRIAL.c.position > after,
            (last.c.state.is_(None)) | (last.c.state != "placed"),
        )
        .order_by(TRIAL.c.position)
        .limit(limit)
    )
    with engine.connect() as connection:
        return tuple(
            Owed(id_, wave, position, (number or 0) + 1)
            for id_, wave, position, number in connection.execute(query)
        )


def place(engine: Engine, experiment: str, node: str, trials: Iterable[Owed]) -> None:
    """Write down that the next attempt of each trial goes to a node."""
    rows = [
        {
            "id": attempt_id(trial.id, trial.next_number),
            "experiment": experiment,
            "trial": trial.id,
            "number": trial.next_number,
            "node": node,
            "state": "placed",
            "placed_at": time.time(),
        }
        for trial in trials
    ]
    if rows:
        with engine.begin() as connection:
            connection.execute(insert(ATTEMPT), rows)


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


def abandon(engine: Engine, experiment: str, why: str, *, only: Sequence[str] | None = None) -> int:
    """End placed attempts as `cancelled`; their trials are owed again. Returns how many.

    Args:
        only: these attempts; all of the experiment's unless given.
    """
    outcome = classify(Evidence(cancelled=why))
    chosen = ATTEMPT.c.experiment == experiment
    if only is not None:
        chosen &= ATTEMPT.c.id.in_(only)
    query = (
        update(ATTEMPT)
        .where(chosen, ATTEMPT.c.state == "placed")
        .values(state="ended", ended_at=time.time(), **judged(outcome))
    )
    with engine.begin() as connection:
        count = connection.execute(query).rowcount
        if count:
            write_event(connection, experiment, f"{count} attempts given up", why)
    return count


def judged(outcome: Outcome) -> dict[str, object]:
    """An outcome as the columns of an attempt."""
    return {
        "verdict": outcome.verdict,
        "cause": outcome.cause,
        "oom": outcome.oom,
        "reward": outcome.reward,
        "rule": outcome.rule,
        "detail": outcome.detail,
        "rules_version": outcome.version,
    }
