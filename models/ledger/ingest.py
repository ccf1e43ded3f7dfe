"""Attempts on their way home: each record is taken in once, and counted in its cell.

A record is accepted when its outcome is one (`passed`, `failed`), or an infra error with no attempt
left; a cancelled attempt never is. A record that comes twice, or after its attempt was given up,
changes nothing and is noted as an event.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import batched

from sqlalchemy import Engine, bindparam, select, update
from sqlalchemy.engine import Connection

from ..classify import classify
from ..evidence import Evidence
from ..message import AttemptRecord
from ..outcome import Outcome
from .attempts import judged
from .events import write_event
from .tables import ATTEMPT, CELL, TRIAL

LOOKUP = 500  # ids per query: below every database's limit of parameters


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended. `record` is its text, None where none came home."""

    attempt: str
    trial: str
    experiment: str
    node: str
    ended_at: float | None
    evidence: Evidence
    record: str | None = None

    @classmethod
    def of(cls, record: AttemptRecord) -> "Ending":
        """The ending that a record tells."""
        return cls(
            attempt=record.attempt_id,
            trial=record.trial_id,
            experiment=record.experiment,
            node=record.conditions.node,
            ended_at=record.clocks.ended_at,
            evidence=record.evidence,
            record=record.encode(),
        )


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of one ending; `accepted`: its outcome is the trial's."""

    attempt: str
    trial: str
    outcome: Outcome
    accepted: bool


def ingest(engine: Engine, endings: Sequence[Ending], max_attempts: int) -> tuple[Ingested, ...]:
    """Take in endings of one experiment: attempts, trials and cell counts in one transaction.

    Returns: one entry for each ending that was taken in, in their order; late, doubled and unknown
        ones are left out and noted as events.
    """
    if not endings:
        return ()
    with engine.begin() as connection:
        placed = _placed(connection, list({ending.attempt for ending in endings}))
        taken = _sorted_out(connection, endings, placed)
        if not taken:
            return ()
        outcomes = {ending.attempt: classify(ending.evidence) for ending in taken}
        _end_attempts(connection, taken, outcomes)
        accepted = _accept(connection, taken, outcomes, max_attempts)
        return tuple(
            Ingested(e.attempt, e.trial, outcomes[e.attempt], e.attempt in accepted) for e in taken
        )


def _placed(connection: Connection, attempts: Sequence[str]) -> dict[str, bool]:
    states: dict[str, bool] = {}
    for some in batched(attempts, LOOKUP):
        query = select(ATTEMPT.c.id, ATTEMPT.c.state).where(ATTEMPT.c.id.in_(some))
        states |= {id_: state == "placed" for id_, state in connection.execute(query)}
    return states


def _sorted_out(
    connection: Connection, endings: Sequence[Ending], placed: dict[str, bool]
) -> list[Ending]:
    """The endings that count: known attempts under way, the first of each; the rest are noted."""
    taken: dict[str, Ending] = {}
    for ending in endings:
        if placed.get(ending.attempt) and ending.attempt not in taken:
            taken[ending.attempt] = ending
            continue
        kind = (
            "late or doubled record" if ending.attempt in placed else "record of an unknown attempt"
        )
        document = ending.record or "{}"
        write_event(connection, ending.experiment, kind, ending.attempt, document)
    return list(taken.values())


def _end_attempts(
    connection: Connection, taken: Sequence[Ending], outcomes: dict[str, Outcome]
) -> None:
    names = ("verdict", "cause", "oom", "reward", "rule", "detail", "rules_version")
    connection.execute(
        update(ATTEMPT)
        .where(ATTEMPT.c.id == bindparam("attempt"))
        .values(
            state="ended",
            node=bindparam("on_node"),
            ended_at=bindparam("at"),
            record=bindparam("text"),
            **{name: bindparam(f"new_{name}") for name in names},
        ),
        [
            {
                "attempt": ending.attempt,
                "on_node": ending.node,
                "at": ending.ended_at,
                "text": ending.record,
            }
            | {f"new_{k}": v for k, v in judged(outcomes[ending.attempt]).items()}
            for ending in taken
        ],
    )


def _accept(
    connection: Connection,
    taken: Sequence[Ending],
    outcomes: dict[str, Outcome],
    max_attempts: int,
) -> set[str]:
    cells, used = _open_trials(connection, [ending.trial for ending in taken])
    accepted: dict[str, Ending] = {}
    for ending in taken:
        verdict = outcomes[ending.attempt].verdict
        final = verdict in ("passed", "failed") or (
            verdict == "infra_error" and used[ending.trial] >= max_attempts
        )
        if final and ending.trial in cells and ending.trial not in accepted:
            accepted[ending.trial] = ending
    if accepted:
        connection.execute(
            update(TRIAL)
            .where(TRIAL.c.id == bindparam("of"))
            .values(accepted=bindparam("attempt")),
            [{"of": trial, "attempt": e.attempt} for trial, e in accepted.items()],
        )
        count(connection, [(cells[t], outcomes[e.attempt]) for t, e in accepted.items()])
    return {ending.attempt for ending in accepted.values()}


def _open_trials(
    connection: Connection, trials: Sequence[str]
) -> tuple[dict[str, int], Counter[str]]:
    """Cell of each trial that has no accepted attempt, and how many attempts each has used up."""
    cells: dict[str, int] = {}
    used: Counter[str] = Counter()
    for some in batched(trials, LOOKUP):
        cells |= {
            id_: cell
            for id_, cell in connection.execute(
                select(TRIAL.c.id, TRIAL.c.cell)
                .where(TRIAL.c.id.in_(some), TRIAL.c.accepted.is_(None))
                .with_for_update()
            )
        }
        used.update(
            connection.scalars(
                select(ATTEMPT.c.trial).where(
                    ATTEMPT.c.trial.in_(some),
                    ATTEMPT.c.state == "ended",
                    ATTEMPT.c.verdict != "cancelled",
                )
            )
        )
    return cells, used


def count(connection: Connection, outcomes: Sequence[tuple[int, Outcome]]) -> None:
    """Add outcomes of trials to the counts of their cells, given by id."""
    sums: dict[int, list[float]] = {}
    for cell, outcome in outcomes:
        row = sums.setdefault(cell, [0, 0, 0, 0, 0.0, 0.0])
        infra = outcome.verdict == "infra_error"
        reward = 0.0 if infra else outcome.reward
        for place, amount in enumerate(
            (
                1,
                outcome.verdict == "passed",
                infra,
                infra and outcome.oom == "collateral",
                reward,
                reward * reward,
            )
        ):
            row[place] += amount
    names = ("n", "passed", "infra_errors", "collateral", "reward_sum", "reward_sumsq")
    connection.execute(
        update(CELL)
        .where(CELL.c.id == bindparam("cell"))
        .values({name: CELL.c[name] + bindparam(f"more_{name}") for name in names}),
        [
            {"cell": cell} | {f"more_{n}": v for n, v in zip(names, row, strict=True)}
            for cell, row in sums.items()
        ],
    )
