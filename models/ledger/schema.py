"""The tables of a store: made where there are none, brought up to date where they are older."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import (
    Column,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import Connection

from ..errors import LedgerError
from .rows import Row
from .writing import WRITES


class Revisions(NamedTuple):
    """Steps from the first release's tables to a later one's: the last one, and their folder."""

    head: str
    folder: Path


OURS = Revisions("0004", Path(__file__).parent / "migrations")
LOCK = 0x1F7A_0153  # whoever makes or changes the tables of a PostgreSQL store holds this
VERSION = Table(  # as alembic itself makes it
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)


def bring_up_to_date(engine: Engine, revisions: Revisions = OURS) -> None:
    """Make the tables of this release, or migrate older ones; nothing where all is well.

    Any number of processes may do so at once. What fails leaves the store as it was.

    Raises:
        LedgerError: the tables are a newer release's, or have no version.
    """
    with engine.connect() as connection:
        if version(connection) == revisions.head:
            return
    with _alone(engine) as connection:
        found = version(connection)
        if found is None:
            _create(connection)
        elif found != revisions.head:
            from .migrate import migrate  # alembic takes long to import and is seldom needed

            migrate(connection, found, revisions.folder)


def version(connection: Connection) -> str | None:
    """The revision of a store's tables; None where there are none yet."""
    if not inspect(connection).has_table(VERSION.name):
        return None
    return connection.scalar(select(VERSION.c.version_num))


def _create(connection: Connection) -> None:
    if inspect(connection).has_table("experiment"):
        raise LedgerError(
            "its tables were made before the first release and cannot be brought up to date; "
            "choose another store, or start over with --fresh"
        )
    Row.metadata.create_all(connection, checkfirst=False)
    VERSION.create(connection)
    connection.execute(insert(VERSION), {"version_num": OURS.head})


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """A transaction during which nobody else makes or changes tables."""
    with engine.connect() as connection, _unchecked(connection):
        connection.execution_options(**{WRITES: True})
        with connection.begin():
            if engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
            yield connection


@contextmanager
def _unchecked(connection: Connection) -> Iterator[None]:
    """SQLite changes a table by making it anew, and must not follow references meanwhile."""
    driver = connection.connection.driver_connection
    if connection.dialect.name != "sqlite" or driver is None:
        yield
        return
    driver.execute("PRAGMA foreign_keys=OFF")  # has no effect once a transaction is under way
    try:
        yield
    finally:
        driver.execute("PRAGMA foreign_keys=ON")
