"""Every test of the ledger runs on every database that it can be kept in."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy import Engine

from infranoise.models.ledger.store import open_store

NUMBERS = itertools.count()
MakeAddress = Callable[[], str]


@pytest.fixture(params=["sqlite", "postgres"])
def make_address(request: pytest.FixtureRequest, tmp_path: Path) -> MakeAddress:
    """Addresses of empty stores: a file, or a schema of its own."""

    def file() -> str:
        return str(tmp_path / f"ledger-{next(NUMBERS)}.sqlite")

    def schema() -> str:
        address, name = request.getfixturevalue("postgres").address, f"store_{next(NUMBERS)}"
        engine = sqlalchemy.create_engine(address)
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
        engine.dispose()
        return f"{address}&options=-csearch_path%3D{name}"

    return file if request.param == "sqlite" else schema


@pytest.fixture
def make_store(make_address: MakeAddress) -> Iterator[Callable[[], Engine]]:
    """Empty stores, each with nothing in it but its tables."""
    made: list[Engine] = []

    def make() -> Engine:
        made.append(open_store(make_address()))
        return made[-1]

    yield make
    for engine in made:
        engine.dispose()


@pytest.fixture
def store(make_store: Callable[[], Engine]) -> Engine:
    """An empty store."""
    return make_store()
