"""Calls of models' APIs in the ledger: taken in once each, summed per experiment."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from ..api_call import ApiCall
from .bulk import among, insert_rows, writable
from .tables import API_CALL, ATTEMPT
from .writing import writing

COLUMNS = (
    *("id", "experiment", "attempt", "provider", "model", "at", "ending", "status"),
    *("first_byte_s", "total_s", "request_id", "tokens", "cost_usd", "document"),
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What an experiment has taken of the models' APIs. `cost_usd` is of the calls that have one;
    `unpriced` counts the others that were answered, `attempts` those that made calls.
    """

    calls: int = 0
    attempts: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


def take_calls(engine: Engine, calls: Sequence[ApiCall], *, fence: int | None = None) -> int:
    """Write calls down; those that are there already, or of unknown attempts, are left out.

    Returns: how many were new.
    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    if not calls:
        return 0
    with writing(engine, fence) as connection:
        known = select(API_CALL.c.id).where(among(connection, API_CALL.c.id, [c.id for c in calls]))
        there = set(connection.scalars(known))
        names = {call.attempt for call in calls}
        query = select(ATTEMPT.c.id).where(among(connection, ATTEMPT.c.id, names))
        attempts = set(connection.scalars(query))
        new = {c.id: c for c in calls if c.id not in there and c.attempt in attempts}
        insert_rows(connection, API_CALL, COLUMNS, map(_row, new.values()))
        return len(new)


def spent(engine: Engine, experiment: str) -> Spent:
    """What an experiment has taken until now, as far as it is in the ledger."""
    unpriced = func.count().filter(API_CALL.c.cost_usd.is_(None), API_CALL.c.status < 400)
    query = select(
        func.count(),
        func.count(API_CALL.c.attempt.distinct()),
        func.coalesce(func.sum(API_CALL.c.tokens), 0),
        func.coalesce(func.sum(API_CALL.c.cost_usd), 0.0),
        unpriced,
    ).where(API_CALL.c.experiment == experiment)
    with engine.connect() as connection:
        calls, attempts, tokens, cost_usd, without = connection.execute(query).one()
    return Spent(int(calls), int(attempts), int(tokens), float(cost_usd), int(without))


def api_calls(engine: Engine, experiment: str, *, attempt: str | None = None) -> Iterator[ApiCall]:
    """The calls of an experiment in the order of their beginning, streamed.

    Args:
        attempt: of this attempt alone.
    """
    query = select(API_CALL.c.document).where(API_CALL.c.experiment == experiment)
    if attempt is not None:
        query = query.where(API_CALL.c.attempt == attempt)
    with engine.connect() as connection:
        streamed = connection.execution_options(yield_per=500)
        with streamed.execute(query.order_by(API_CALL.c.at, API_CALL.c.id)) as found:
            for (document,) in found:
                yield ApiCall.model_validate_json(document)


def _row(call: ApiCall) -> tuple[object, ...]:
    return (
        *(call.id, call.experiment, call.attempt, call.provider, call.model, call.at),
        *(call.ending, call.status, call.first_byte_s, call.total_s),
        *(writable(call.request_id), call.tokens.total if call.tokens else None, call.cost_usd),
        writable(call.model_dump_json()),
    )
