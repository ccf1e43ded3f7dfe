"""Opening a store: a database address in, an engine on the tables of this release out."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import SQLAlchemyError

from ..errors import LedgerError, StoreAway
from .schema import bring_up_to_date
from .writing import WRITES

WAIT_FOR_LOCK_S = 30
WAIT_FOR_SERVER_S = 10
PAGE_BYTES = 16_384  # a record is some 4 kB: fewer pages to split, write and check
CACHE_BYTES = LOG_BYTES = 64 * 1024 * 1024  # pages that change often go home seldom
DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def open_store(address: str | Path) -> Engine:
    """An engine on a SQLite file (a path) or a PostgreSQL database (`postgresql://…`).

    Tables are made in an empty store and brought up to date in an older one. Every failure of the
    database is told as a `LedgerError` from then on.

    Raises:
        LedgerError: the address cannot be opened, or holds what a newer release wrote; names it.
    """
    try:
        url = _url(address)
        engine = _sqlite(url) if url.drivername == "sqlite" else _postgres(url)
        event.listen(engine, "handle_error", _tell)
        with _closed_on_failure(engine):
            bring_up_to_date(engine)
    except (LedgerError, SQLAlchemyError, ImportError, ValueError, OSError) as error:
        kind = type(error) if isinstance(error, LedgerError) else LedgerError
        remedy = "; start it, or correct --store (INFRANOISE_STORE)" if kind is StoreAway else ""
        raise kind(f"store {_shown(address)}: {error}{remedy}") from error
    return engine


@contextmanager
def _closed_on_failure(engine: Engine) -> Iterator[None]:
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def _url(address: str | Path) -> URL:
    if isinstance(address, Path) or "://" not in address:
        return URL.create("sqlite", database=str(address))
    url = make_url(address)
    if url.drivername not in DRIVERS:
        raise LedgerError(f"no ledger can be kept in {url.drivername}; use SQLite or PostgreSQL")
    return url.set(drivername=DRIVERS[url.drivername])


def _sqlite(url: URL) -> Engine:
    if url.database and url.database != ":memory:":
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(url, json_serializer=json.dumps)
    event.listen(engine, "connect", _make_sqlite_durable)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_sqlite_durable(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the driver's own idea of transactions leaves reads out
    for pragma in (
        f"busy_timeout={WAIT_FOR_LOCK_S * 1000}",
        f"page_size={PAGE_BYTES}",  # of a new file
        f"cache_size=-{CACHE_BYTES // 1024}",
        "journal_mode=WAL",
        f"wal_autocheckpoint={LOG_BYTES // PAGE_BYTES}",
        "synchronous=NORMAL",
        "foreign_keys=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    """What writes takes its turn before it reads: what it has read is then still so."""
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgres(url: URL) -> Engine:
    patience = {} if "connect_timeout" in url.query else {"connect_timeout": WAIT_FOR_SERVER_S}
    return create_engine(
        url, json_serializer=json.dumps, pool_pre_ping=True, connect_args=dict(patience)
    )


def _tell(context: ExceptionContext) -> None:
    """Turn what the database said into an error of ours; a caller need not know its driver."""
    if context.is_pre_ping:
        return
    said = str(context.original_exception).strip().partition("\n")[0]
    kind = StoreAway if context.is_disconnect or context.connection is None else LedgerError
    raise kind(said) from context.original_exception


def _shown(address: str | Path) -> str:
    scheme, at, host = str(address).rpartition("@")
    return f"{scheme.split('://')[0]}://…@{host}" if at else str(address)
