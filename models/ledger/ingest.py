"""Attempts on their way home: each record is taken in once, and counted in its cell.

A record is accepted when its outcome is one (`passed`, `failed`), or an infra error with no attempt
left; a cancelled attempt never is. A record that comes twice, or after its attempt was given up,
changes nothing and is noted as an event.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from sqlalchemy import Engine, func, select
from sqlalchemy.engine import Connection

from ..classify import classify
from ..evidence import Evidence
from ..message import AttemptRecord
from ..outcome import Outcome
from .attempts import JUDGED, judged
from .bulk import among, update_rows
from .events import write_event
from .tables import ATTEMPT, CELL, TRIAL
from .writing import writing

ENDED = ("state", "node", "ended_at", "record", *JUDGED)
COUNTS = ("n", "passed", "infra_errors", "collateral", "reward_sum", "reward_sumsq")


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


def ingest(
    engine: Engine, endings: Sequence[Ending], max_attempts: int, *, fence: int | None = None
) -> tuple[Ingested, ...]:
    """Take in endings of one experiment: attempts, trials and cell counts in one transaction.

    Args:
        fence: the scheduler's lead; None where nobody else could write.
    Returns: one entry for each ending that was taken in, in their order; late, doubled and unknown
        ones are left out and noted as events.
    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    if not endings:
        return ()
    with writing(engine, fence) as connection:
        stands = _standing(connection, {ending.attempt for ending in endings})
        taken = _sorted_out(connection, endings, stands)
        if not taken:
            return ()
        outcomes = {ending.attempt: classify(ending.evidence) for ending in taken}
        accepted = _accepted(taken, outcomes, stands, max_attempts)
        _write(connection, taken, outcomes, stands, accepted)
        return tuple(
            Ingested(a, stands[a].trial, outcomes[a], a in accepted)
            for a in (ending.attempt for ending in taken)
        )


@dataclass(frozen=True, slots=True)
class _Standing:
    """How an attempt and its trial stand in the ledger; `used`: attempts that count as tries."""

    under_way: bool
    trial: str
    cell: int
    has_outcome: bool
    used: int


def _standing(connection: Connection, attempts: Set[str]) -> dict[str, _Standing]:
    """The attempts that there are, held as they stand until the transaction ends."""
    chosen = among(connection, ATTEMPT.c.id, attempts)
    both = ATTEMPT.join(TRIAL, TRIAL.c.id == ATTEMPT.c.trial)
    if connection.dialect.name == "postgresql":
        # Counting is a statement of its own: one that waits for a lock still sees what was before.
        lock = select(TRIAL.c.id).select_from(both).where(chosen)
        connection.execute(lock.order_by(TRIAL.c.id, ATTEMPT.c.id).with_for_update())
    other = ATTEMPT.alias()
    used = (
        select(func.count())
        .where(other.c.trial == TRIAL.c.id, other.c.state == "ended")
        .where(other.c.verdict != "cancelled")
        .correlate(TRIAL)
        .scalar_subquery()
    )
    query = select(ATTEMPT.c.id, ATTEMPT.c.state, TRIAL.c.id, TRIAL.c.cell, TRIAL.c.accepted, used)
    return {
        id_: _Standing(state == "placed", trial, cell, accepted is not None, tries)
        for id_, state, trial, cell, accepted, tries in connection.execute(
            query.select_from(both).where(chosen)
        )
    }


def _sorted_out(
    connection: Connection, endings: Sequence[Ending], stands: Mapping[str, _Standing]
) -> list[Ending]:
    """The endings that count: known attempts under way, the first of each; the rest are noted."""
    taken: dict[str, Ending] = {}
    for ending in endings:
        known = stands.get(ending.attempt)
        if known and known.under_way and ending.attempt not in taken:
            taken[ending.attempt] = ending
            continue
        kind = "late or doubled record" if known else "record of an unknown attempt"
        document = ending.record or "{}"
        write_event(connection, ending.experiment, kind, ending.attempt, document)
    return list(taken.values())


def _accepted(
    taken: Sequence[Ending],
    outcomes: Mapping[str, Outcome],
    stands: Mapping[str, _Standing],
    max_attempts: int,
) -> set[str]:
    """The attempts whose outcomes are their trials': decided from what stands, at most one each."""
    used = {stands[ending.attempt].trial: stands[ending.attempt].used for ending in taken}
    for ending in taken:
        used[stands[ending.attempt].trial] += outcomes[ending.attempt].verdict != "cancelled"
    chosen: dict[str, str] = {}
    for ending in taken:
        known, verdict = stands[ending.attempt], outcomes[ending.attempt].verdict
        final = verdict in ("passed", "failed") or (
            verdict == "infra_error" and used[known.trial] >= max_attempts
        )
        if final and not known.has_outcome:
            chosen.setdefault(known.trial, ending.attempt)
    return set(chosen.values())


def _write(
    connection: Connection,
    taken: Sequence[Ending],
    outcomes: Mapping[str, Outcome],
    stands: Mapping[str, _Standing],
    accepted: Set[str],
) -> None:
    rows = (
        (
            *("ended", e.node, e.ended_at, e.record),
            *(*judged(outcomes[e.attempt]).values(), e.attempt),
        )
        for e in taken
    )
    update_rows(connection, ATTEMPT, ENDED, rows)
    if accepted:
        update_rows(connection, TRIAL, ("accepted",), ((a, stands[a].trial) for a in accepted))
        count(connection, [(stands[a].cell, outcomes[a]) for a in accepted])


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
    held = select(CELL.c.id).where(among(connection, CELL.c.id, sums)).order_by(CELL.c.id)
    connection.execute(held.with_for_update())  # in one order, so that no two wait for each other
    update_rows(connection, CELL, COUNTS, ((*row, cell) for cell, row in sums.items()), add=True)
