"""Events: what happened to a run itself, in order."""

import time

from sqlalchemy import Engine, insert, select
from sqlalchemy.engine import Connection

from .bulk import writable
from .tables import EVENT
from .writing import writing


def note(
    engine: Engine,
    experiment: str,
    kind: str,
    subject: str = "",
    document: str = "{}",
    *,
    fence: int | None = None,
) -> None:
    """Write down something that happened to the run itself, in a transaction of its own.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    with writing(engine, fence) as connection:
        write_event(connection, experiment, kind, subject, document)


def write_event(
    connection: Connection, experiment: str, kind: str, subject: str = "", document: str = "{}"
) -> None:
    """The same, inside a transaction that is under way; `document` is JSON."""
    connection.execute(
        insert(EVENT),
        {
            "experiment": experiment,
            "at": time.time(),
            "kind": kind,
            "subject": writable(subject),
            "document": document,
        },
    )


def last_document(engine: Engine, experiment: str, kind: str) -> str | None:
    """The document of the last event of a kind; None if there was none."""
    query = (
        select(EVENT.c.document)
        .where(EVENT.c.experiment == experiment, EVENT.c.kind == kind)
        .order_by(EVENT.c.id.desc())
        .limit(1)
    )
    with engine.connect() as connection:
        return connection.scalar(query)
