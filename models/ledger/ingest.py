"""Attempts on their way home: each record is taken in once, and counted in its cell.

A record is accepted when its outcome is one (`passed`, `failed`), or an infra error with no attempt
left; a cancelled attempt never is. A record that comes twice, or after its attempt was given up,
changes nothing and is noted as an event.
"""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine, select
from sqlalchemy.engine import Connection

from ..classify import classify
from ..evidence import Evidence
from ..message import AttemptRecord
from ..node import NodeProfile
from ..outcome import Outcome
from .attempts import JUDGED, judgement
from .bulk import among, update_rows
from .events import write_event
from .nodes import note_nodes
from .tables import ATTEMPT, CELL, TRIAL
from .writing import writing

ENDED = ("state", "node", "ended_at", "record", *JUDGED)
LOST = "attempt lost"  # the kind of event that keeps what was seen of an attempt without a record
COUNTS = ("n", "passed", "infra_errors", "collateral", "reward_sum", "reward_sumsq")
STANDING = (
    select(ATTEMPT.c.id, ATTEMPT.c.state, TRIAL.c.id, TRIAL.c.cell, TRIAL.c.accepted)
    .join_from(ATTEMPT, TRIAL, TRIAL.c.id == ATTEMPT.c.trial)
    .order_by(TRIAL.c.id, ATTEMPT.c.id)  # all who wait for each other's rows wait in one order
    .with_for_update()
)
TRIES = select(ATTEMPT.c.trial).where(ATTEMPT.c.state == "ended", ATTEMPT.c.verdict != "cancelled")


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended. `record` is its text, None where none came home.

    `witness` is a JSON document of what was seen instead, kept as an event; "" where there is none.
    `profile` is what a cluster's node told of itself with it; it is kept once, beside the nodes.
    """

    attempt: str
    trial: str
    experiment: str
    node: str
    ended_at: float | None
    evidence: Evidence
    record: str | None = None
    witness: str = ""
    profile: NodeProfile | None = None

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
            record=record.model_copy(update={"profile": None}).encode(),
            profile=record.profile,
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
        _end_attempts(connection, taken, outcomes)
        note_nodes(connection, {end.node: end.profile for end in taken if end.profile})
        accepted = _accepted(connection, taken, outcomes, stands, max_attempts)
        _end_trials(connection, accepted, outcomes, stands)
        counts = set(accepted)
        return tuple(
            Ingested(a, stands[a].trial, outcomes[a], a in counts)
            for a in (ending.attempt for ending in taken)
        )


class _Standing(NamedTuple):
    """How an attempt and its trial stand in the ledger."""

    state: str
    trial: str
    cell: int
    accepted: str | None


def _standing(connection: Connection, attempts: Set[str]) -> dict[str, _Standing]:
    """The attempts that there are, held as they stand until the transaction ends."""
    chosen = STANDING.where(among(connection, ATTEMPT.c.id, attempts))
    return {row[0]: _Standing._make(row[1:]) for row in connection.execute(chosen).all()}


def _sorted_out(
    connection: Connection, endings: Sequence[Ending], stands: Mapping[str, _Standing]
) -> list[Ending]:
    """The endings that count: known attempts under way, the first of each; the rest are noted."""
    taken: dict[str, Ending] = {}
    for ending in endings:
        known = stands.get(ending.attempt)
        if known and known.state == "placed" and ending.attempt not in taken:
            taken[ending.attempt] = ending
            if ending.witness:
                write_event(connection, ending.experiment, LOST, ending.attempt, ending.witness)
            continue
        kind = "late or doubled record" if known else "record of an unknown attempt"
        document = ending.record or "{}"
        write_event(connection, ending.experiment, kind, ending.attempt, document)
    return list(taken.values())


def _accepted(
    connection: Connection,
    taken: Sequence[Ending],
    outcomes: Mapping[str, Outcome],
    stands: Mapping[str, _Standing],
    max_attempts: int,
) -> tuple[str, ...]:
    """The attempts whose outcomes are their trials', at most one each; `taken` have ended."""
    verdicts = {ending.attempt: outcomes[ending.attempt].verdict for ending in taken}
    broken = {stands[a].trial for a, verdict in verdicts.items() if verdict == "infra_error"}
    tries = TRIES.where(among(connection, ATTEMPT.c.trial, broken))
    used = Counter(connection.scalars(tries)) if broken else Counter[str]()
    chosen: dict[str, str] = {}
    for attempt, verdict in verdicts.items():
        trial = stands[attempt].trial
        final = verdict in ("passed", "failed") or (
            verdict == "infra_error" and used[trial] >= max_attempts
        )
        if final and stands[attempt].accepted is None:
            chosen.setdefault(trial, attempt)
    return tuple(chosen.values())


def _end_attempts(
    connection: Connection, taken: Sequence[Ending], outcomes: Mapping[str, Outcome]
) -> None:
    rows = (
        ("ended", e.node, e.ended_at, e.record, *judgement(outcomes[e.attempt]), e.attempt)
        for e in taken
    )
    update_rows(connection, ATTEMPT, ENDED, rows)


def _end_trials(
    connection: Connection,
    accepted: Sequence[str],
    outcomes: Mapping[str, Outcome],
    stands: Mapping[str, _Standing],
) -> None:
    if accepted:
        update_rows(connection, TRIAL, ("accepted",), ((a, stands[a].trial) for a in accepted))
        count(connection, [(stands[a].cell, outcomes[a]) for a in accepted])


def count(connection: Connection, outcomes: Sequence[tuple[int, Outcome]]) -> None:
    """Add outcomes of trials to the counts of their cells, given by id."""
    sums: dict[int, tuple[float, ...]] = {}
    for cell, outcome in outcomes:
        infra = outcome.verdict == "infra_error"
        reward = 0.0 if infra else outcome.reward
        passed, collateral = outcome.verdict == "passed", infra and outcome.oom == "collateral"
        n, p, i, c, total, squares = sums.get(cell, (0, 0, 0, 0, 0.0, 0.0))
        sums[cell] = (
            *(n + 1, p + passed, i + infra, c + collateral),
            *(total + reward, squares + reward * reward),
        )
    held = select(CELL.c.id).where(among(connection, CELL.c.id, sums)).order_by(CELL.c.id)
    connection.execute(held.with_for_update())  # in one order, so that no two wait for each other
    update_rows(
        connection, CELL, COUNTS, ((*row, cell) for cell, row in sorted(sums.items())), add=True
    )
