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

REPLAYS = ("replay_of", "replay_in")
JUDGED = ("verdict", "cause", "oom", "reward", "rule", "detail", "rules_version")
PLACED = ("id", "experiment", "trial", "number", "node", "state", "placed_at", *REPLAYS)


@dataclass(frozen=True, slots=True)
class Replay:
    """What makes an attempt a kill replay: the attempt that was killed, and the ceiling now."""

    of: str
    ceiling: str


@dataclass(frozen=True, slots=True)
class Owed:
    """A trial without an accepted outcome, and the number of its next attempt (from 1).

    With `replay` it has one, a kill, and the next attempt is to replay it.
    """

    id: str
    wave: int
    position: int
    next_number: int
    replay: Replay | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """An attempt under way: the trial as it was owed, and the node."""

    attempt: str
    node: str
    owed: Owed


def owed(
    engine: Engine,
    experiment: str,
    *,
    after: int = -1,
    limit: int | None = None,
    last_wave: int | None = None,
) -> tuple[Owed, ...]:
    """Trials without an accepted outcome and without an attempt under way, in order of dispatch.

    Args:
        after: only trials at a later position.
        limit: at most so many.
        last_wave: only trials of waves up to this one.
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
    if last_wave is not None:
        query = query.where(TRIAL.c.wave <= last_wave)
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
    place_over(engine, experiment, ((node, trial) for trial in trials), fence=fence)


def place_over(
    engine: Engine,
    experiment: str,
    placements: Iterable[tuple[str, Owed]],
    *,
    fence: int | None = None,
) -> None:
    """Write down, all or nothing, to which node the next attempt of each trial goes.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    now = time.time()
    rows = [
        (
            attempt_id(trial.id, trial.next_number),
            *(experiment, trial.id, trial.next_number, node, "placed", now),
            *((trial.replay.of, trial.replay.ceiling) if trial.replay else (None, None)),
        )
        for node, trial in placements
    ]
    if rows:
        with writing(engine, fence) as connection:
            insert_rows(connection, ATTEMPT, PLACED, rows)


def under_way(engine: Engine, experiment: str) -> dict[str, Placement]:
    """The attempts that are placed and have no record, by attempt id."""
    query = (
        select(
            *(ATTEMPT.c[name] for name in ("id", "node", "trial", "number", *REPLAYS)),
            *(TRIAL.c[name] for name in ("wave", "position")),
        )
        .join_from(ATTEMPT, TRIAL, ATTEMPT.c.trial == TRIAL.c.id)
        .where(ATTEMPT.c.experiment == experiment, ATTEMPT.c.state == "placed")
        .order_by(ATTEMPT.c.placed_at)
    )
    with engine.connect() as connection:
        return {
            id_: Placement(
                id_,
                node,
                Owed(trial, wave, position, number, Replay(of, ceiling) if of else None),
            )
            for id_, node, trial, number, of, ceiling, wave, position in connection.execute(query)
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
    chosen = (ATTEMPT.c.experiment == experiment) & (ATTEMPT.c.state == "placed")
    ended = {"state": "ended", "ended_at": time.time(), **judged(outcome)}
    with writing(engine, fence) as connection:
        if only is not None:
            chosen &= among(connection, ATTEMPT.c.id, only)
        held = select(ATTEMPT.c.id).where(chosen).order_by(ATTEMPT.c.trial, ATTEMPT.c.id)
        connection.execute(held.with_for_update())  # in the order in which `ingest` holds them
        count = connection.execute(update(ATTEMPT).where(chosen).values(**ended)).rowcount
        if count:
            write_event(connection, experiment, f"{count} attempts given up", why)
    return count


def judged(outcome: Outcome) -> dict[str, object]:
    """An outcome as the columns of an attempt."""
    return dict(zip(JUDGED, judgement(outcome)))


def judgement(outcome: Outcome) -> tuple[object, ...]:
    """The same as values, in the order of `JUDGED`."""
    return (
        outcome.verdict,
        outcome.cause,
        outcome.oom,
        outcome.reward,
        outcome.rule,
        writable(outcome.detail),
        outcome.version,
    )
