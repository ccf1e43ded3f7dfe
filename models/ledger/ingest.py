"""Attempts on their way home: each record is taken in once, and counted in its cell.

A record is accepted when its outcome is one (`passed`, `failed`), or an infra error with no attempt
left; a cancelled attempt never is. A record that comes twice, or after its attempt was given up,
changes nothing and is noted as an event.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, bindparam, select, update
from sqlalchemy.engine import Connection

from ..classify import classify
from ..message import AttemptRecord
from ..outcome import Outcome
from .attempts import judged
from .events import write_event
from .rows import AttemptRow, CellRow, TrialRow

LOOKUP = 500  # ids per query: below every database's limit of parameters


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of one record; `accepted`: its outcome is the trial's."""

    attempt: str
    trial: str
    outcome: Outcome
    accepted: bool


def ingest(
    engine: Engine, records: Sequence[AttemptRecord], max_attempts: int
) -> tuple[Ingested, ...]:
    """Take in records of one experiment: attempts, trials and cell counts in one transaction.

    Returns: one entry for each record that was taken in, in their order; late, doubled and unknown
        ones are left out and noted as events.
    """
    fresh = {record.attempt_id: record for record in reversed(records)}
    if not fresh:
        return ()
    with engine.begin() as connection:
        placed = _placed(connection, list(fresh))
        _note_refused(connection, records, placed)
        taken = [r for r in records if placed.get(r.attempt_id) and fresh.pop(r.attempt_id, None)]
        if not taken:
            return ()
        outcomes = {record.attempt_id: classify(record.evidence) for record in taken}
        _end_attempts(connection, taken, outcomes)
        accepted = _accept(connection, taken, outcomes, max_attempts)
        return tuple(
            Ingested(r.attempt_id, r.trial_id, outcomes[r.attempt_id], r.attempt_id in accepted)
            for r in taken
        )


def _placed(connection: Connection, attempts: Sequence[str]) -> dict[str, bool]:
    states: dict[str, bool] = {}
    for start in range(0, len(attempts), LOOKUP):
        query = select(AttemptRow.id, AttemptRow.state).where(
            AttemptRow.id.in_(attempts[start : start + LOOKUP])  # type: ignore[attr-defined]
        )
        states |= {id_: state == "placed" for id_, state in connection.execute(query)}
    return states


def _note_refused(
    connection: Connection, records: Sequence[AttemptRecord], placed: dict[str, bool]
) -> None:
    seen: Counter[str] = Counter()
    for record in records:
        seen[record.attempt_id] += 1
        if record.attempt_id not in placed:
            kind = "record of an unknown attempt"
        elif not placed[record.attempt_id] or seen[record.attempt_id] > 1:
            kind = "late or doubled record"
        else:
            continue
        write_event(connection, record.experiment, kind, record.attempt_id, record.encode())


def _end_attempts(
    connection: Connection, taken: Sequence[AttemptRecord], outcomes: dict[str, Outcome]
) -> None:
    names = ("verdict", "cause", "oom", "reward", "rule", "detail", "rules_version")
    connection.execute(
        update(AttemptRow)
        .where(AttemptRow.id == bindparam("attempt"))  # type: ignore[arg-type]
        .values(
            state="ended",
            node=bindparam("on_node"),
            ended_at=bindparam("at"),
            record=bindparam("text"),
            **{name: bindparam(f"new_{name}") for name in names},
        ),
        [
            {
                "attempt": record.attempt_id,
                "on_node": record.conditions.node,
                "at": record.clocks.ended_at,
                "text": record.encode(),
            }
            | {f"new_{k}": v for k, v in judged(outcomes[record.attempt_id]).items()}
            for record in taken
        ],
        execution_options={"synchronize_session": None},
    )


def _accept(
    connection: Connection,
    taken: Sequence[AttemptRecord],
    outcomes: dict[str, Outcome],
    max_attempts: int,
) -> set[str]:
    cells, used = _open_trials(connection, [record.trial_id for record in taken])
    accepted: dict[str, AttemptRecord] = {}
    for record in taken:
        verdict = outcomes[record.attempt_id].verdict
        final = verdict in ("passed", "failed") or (
            verdict == "infra_error" and used[record.trial_id] >= max_attempts
        )
        if final and record.trial_id in cells and record.trial_id not in accepted:
            accepted[record.trial_id] = record
    if accepted:
        connection.execute(
            update(TrialRow)
            .where(TrialRow.id == bindparam("trial"))  # type: ignore[arg-type]
            .values(accepted=bindparam("attempt")),
            [{"trial": t, "attempt": r.attempt_id} for t, r in accepted.items()],
        )
        _count(connection, [(cells[t], outcomes[r.attempt_id]) for t, r in accepted.items()])
    return {record.attempt_id for record in accepted.values()}


def _open_trials(
    connection: Connection, trials: Sequence[str]
) -> tuple[dict[str, int], Counter[str]]:
    """Cell of each trial that has no accepted attempt, and how many attempts each has used up."""
    cells: dict[str, int] = {}
    used: Counter[str] = Counter()
    for start in range(0, len(trials), LOOKUP):
        some = trials[start : start + LOOKUP]
        cells |= {
            id_: cell
            for id_, cell in connection.execute(
                select(TrialRow.id, TrialRow.cell)
                .where(TrialRow.id.in_(some), TrialRow.accepted.is_(None))  # type: ignore[attr-defined, union-attr]
                .with_for_update()
            )
        }
        used.update(
            connection.scalars(
                select(AttemptRow.trial).where(
                    AttemptRow.trial.in_(some),  # type: ignore[attr-defined]
                    AttemptRow.state == "ended",  # type: ignore[arg-type]
                    AttemptRow.verdict != "cancelled",  # type: ignore[arg-type]
                )
            )
        )
    return cells, used


def _count(connection: Connection, outcomes: Sequence[tuple[int, Outcome]]) -> None:
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
        update(CellRow)
        .where(CellRow.id == bindparam("cell"))  # type: ignore[arg-type]
        .values({name: getattr(CellRow, name) + bindparam(f"more_{name}") for name in names}),
        [
            {"cell": cell} | {f"more_{n}": v for n, v in zip(names, row, strict=True)}
            for cell, row in sums.items()
        ],
    )


