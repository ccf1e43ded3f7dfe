"""Every test of the ledger runs on every database that it can be kept in."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
import sqlalchemy
from own_postgres import OwnPostgres
from sqlalchemy import Engine

from infranoise.models.ledger.rows import Row
from infranoise.models.ledger.store import open_store

NUMBERS = itertools.count()
Kind = Literal["sqlite", "postgres"]
MakeAddress = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """The database that this test runs on."""
    kind: Kind = request.param
    return kind


@pytest.fixture
def make_address(kind: Kind, request: pytest.FixtureRequest, tmp_path: Path) -> MakeAddress:
    """Addresses of stores that nobody has opened yet: a file, or a schema of its own."""
    if kind == "sqlite":
        return lambda: str(tmp_path / f"ledger-{next(NUMBERS)}.sqlite")
    server: OwnPostgres = request.getfixturevalue("postgres")
    return lambda: _schema(server)


@pytest.fixture
def store(kind: Kind, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty store."""
    if kind == "postgres":
        engine: Engine = request.getfixturevalue("postgres_store")
        _wipe(engine)
        yield engine
        return
    engine = open_store(tmp_path / "ledger.sqlite")
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def postgres_store(postgres: OwnPostgres) -> Iterator[Engine]:
    """The store that tests on PostgreSQL share, one after the other."""
    engine = open_store(_schema(postgres))
    yield engine
    engine.dispose()


@pytest.fixture
def wipe() -> Callable[[Engine], None]:
    """Empties a store, for tests that want one again and again."""
    return _wipe


def _wipe(engine: Engine) -> None:
    with engine.begin() as connection:
        for table in reversed(Row.metadata.sorted_tables):
            connection.execute(table.delete())


def _schema(server: OwnPostgres) -> str:
    name = f"store_{next(NUMBERS)}"
    engine = sqlalchemy.create_engine(server.address)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    engine.dispose()
    return f"{server.address}&options=-csearch_path%3D{name}"
