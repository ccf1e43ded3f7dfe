"""Statements over many rows: COPY on PostgreSQL, one prepared statement on SQLite.

Both go past SQLAlchemy's own handling of each row, which costs more than the databases do.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import batched

from sqlalchemy import Column, ColumnElement, Table, Text, cast, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import Connection

from ..errors import LedgerError

AT_ONCE = 10_000  # rows handed to SQLite's driver in one list

type Row = tuple[object, ...]


def insert_rows(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Row]
) -> None:
    """Insert rows, each with values in the order of `names`."""
    into = f"{table.name} ({', '.join(names)})"
    if connection.dialect.name == "postgresql":
        _copy(connection, into, rows)
        return
    marks = ", ".join("?" * len(names))
    _each(connection, f"INSERT INTO {into} VALUES ({marks})", rows)


def update_rows(
    connection: Connection,
    table: Table,
    names: Sequence[str],
    rows: Iterable[Row],
    *,
    add: bool = False,
) -> None:
    """Set columns of rows by their id.

    Args:
        rows: values in the order of `names`, then the id.
        add: add the values to what is there instead.
    """
    if connection.dialect.name == "postgresql":
        _copy_and_update(connection, table, names, rows, add)
        return
    assigned = ", ".join(f"{n} = {n} + ?" if add else f"{n} = ?" for n in names)
    _each(connection, f"UPDATE {table.name} SET {assigned} WHERE id = ?", rows)


def insert_if_absent(connection: Connection, table: Table, row: dict[str, object]) -> bool:
    """Insert a row unless its key is there; whether it was inserted. Waits for a rival's row."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(row).on_conflict_do_nothing()
    counted = statement.execution_options(preserve_rowcount=True)
    return bool(connection.execute(counted).rowcount)


def among(
    connection: Connection, column: Column[str] | Column[int], values: Iterable[str] | Iterable[int]
) -> ColumnElement[bool]:
    """Whether a column is one of any number of values, as one parameter."""
    listed = json.dumps(list(values))
    if connection.dialect.name == "postgresql":
        each = func.jsonb_array_elements_text(cast(literal(listed, Text), JSONB)).column_valued()
        return column.in_(select(cast(each, column.type)))
    return column.in_(select(func.json_each(listed).table_valued("value").c.value))


def writable(text: str) -> str:
    """A text as every database takes it: PostgreSQL has no NUL."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _each(connection: Connection, statement: str, rows: Iterable[Row]) -> None:
    for some in batched(rows, AT_ONCE):
        connection.exec_driver_sql(statement, list(some))


def _copy_and_update(
    connection: Connection, table: Table, names: Sequence[str], rows: Iterable[Row], add: bool
) -> None:
    columns, incoming = ", ".join((*names, "id")), f"incoming_{table.name}"
    connection.exec_driver_sql(
        f"CREATE TEMP TABLE {incoming} ON COMMIT DROP AS SELECT {columns} FROM {table.name} LIMIT 0"
    )
    _copy(connection, f"{incoming} ({columns})", rows)
    assigned = ", ".join(
        f"{n} = {table.name}.{n} + new.{n}" if add else f"{n} = new.{n}" for n in names
    )
    connection.exec_driver_sql(
        f"UPDATE {table.name} SET {assigned} FROM {incoming} AS new WHERE {table.name}.id = new.id"
    )
    connection.exec_driver_sql(f"DROP TABLE {incoming}")  # the next call in this transaction


def _copy(connection: Connection, into: str, rows: Iterable[Row]) -> None:
    driver = connection.connection.driver_connection
    assert driver is not None, "a connection that is open has its driver's"
    with (
        _told(connection),
        driver.cursor() as cursor,
        cursor.copy(f"COPY {into} FROM STDIN") as copy,
    ):
        for row in rows:
            copy.write_row(row)


@contextmanager
def _told(connection: Connection) -> Iterator[None]:
    """Errors of the driver, which SQLAlchemy does not see here, as ours."""
    try:
        yield
    except connection.dialect.loaded_dbapi.Error as error:
        raise LedgerError(str(error).strip().partition("\n")[0]) from error
