"""Opening a store: a database address in, an engine with the tables out."""

import json
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.exc import OperationalError, SQLAlchemyError
from sqlmodel import SQLModel, create_engine

from ..errors import LedgerError
from . import rows as rows  # the tables register themselves

WAIT_FOR_LOCK_S = 30


def open_store(address: str | Path) -> Engine:
    """An engine on a SQLite file (a path) or any SQLAlchemy address, its tables made if missing.

    Raises:
        LedgerError: the address cannot be opened; names it and what the database said.
    """
    url = address if isinstance(address, str) and "://" in address else _sqlite(Path(address))
    try:
        engine = create_engine(url, json_serializer=json.dumps)
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _make_sqlite_durable)
        SQLModel.metadata.create_all(engine)
    except (SQLAlchemyError, ImportError, ValueError) as error:
        raise LedgerError(f"store {_shown(str(address))}: {_reason(error)}") from error
    return engine


def _sqlite(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path}"


def _make_sqlite_durable(connection: Any, _: object) -> None:
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"busy_timeout={WAIT_FOR_LOCK_S * 1000}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _shown(address: str) -> str:
    scheme, at, host = address.rpartition("@")
    return f"{scheme.split('://')[0]}://…@{host}" if at else address


def _reason(error: Exception) -> str:
    return str(error.orig) if isinstance(error, OperationalError) else str(error)
