"""Transactions that write, and who may: a scheduler that was deposed may no more.

Each lead has a fence, a number that only grows. The ledger keeps the highest that it has seen;
what is written under another one is refused, in the transaction that would have written it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, select, update
from sqlalchemy.engine import Connection

from ..errors import Deposed
from .bulk import insert_if_absent
from .tables import LEADER

WRITES = "infranoise_writes"  # the execution option of a connection that will write
ONLY = 1  # the id of the only row


@contextmanager
def writing(engine: Engine, fence: int | None = None) -> Iterator[Connection]:
    """A transaction that writes: all of it or nothing.

    Nothing else writes to a SQLite store meanwhile; on PostgreSQL lock what is read to be changed.

    Args:
        fence: the writer's lead; None for those who need not lead.
    Raises:
        Deposed: this lead never began here, or another has. LedgerError: the store refuses.
    """
    with engine.connect() as connection:
        connection.execution_options(**{WRITES: True})
        with connection.begin():
            if fence is not None:
                _check(connection, fence)
            yield connection


def take_lead(engine: Engine, fence: int) -> None:
    """Begin a lead: what an earlier one had begun to write has ended, and it will begin no more.

    Raises:
        Deposed: this fence, or a higher one, was seen before; try again with a new fence.
    """
    with writing(engine) as connection:
        seen = _hold(connection)
        if seen >= fence:
            raise Deposed(fence, seen)
        connection.execute(update(LEADER).values(fence=fence))


def next_fence_at_least(engine: Engine) -> int:
    """The lowest fence that a new lead may have, whatever the queue server has forgotten."""
    with engine.connect() as connection:
        return (connection.scalar(select(LEADER.c.fence)) or 0) + 1


def _check(connection: Connection, fence: int) -> None:
    seen = _hold(connection)
    if seen != fence:
        raise Deposed(fence, seen)


def _hold(connection: Connection) -> int:
    """The highest fence that was seen; nobody can raise it until this transaction ends."""
    held = select(LEADER.c.fence).with_for_update()
    seen = connection.scalar(held)
    if seen is None:
        insert_if_absent(connection, LEADER, {"id": ONLY, "fence": 0})
        seen = connection.execute(held).scalar_one()
    return int(seen)
