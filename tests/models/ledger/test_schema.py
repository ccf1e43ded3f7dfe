"""The tables of a store: one schema however it came about, and nothing lost on the way to it."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect

from infranoise.models.errors import LedgerError
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import owed, under_way
from infranoise.models.ledger.migrate import migrate
from infranoise.models.ledger.rows import Row
from infranoise.models.ledger.schema import OURS, VERSION, Revisions, bring_up_to_date, version
from infranoise.models.ledger.store import open_store

GOLDEN = Path(__file__).parents[2] / "golden"
MakeAddress = Callable[[], str]
NEXT_REVISION = '''
"""A further one."""
import sqlalchemy as sa
from alembic import op
revision, down_revision = "next", "{head}"
def upgrade():
    with op.batch_alter_table("trial") as trial:
        trial.add_column(sa.Column("mood", sa.String(), nullable=False, server_default="calm"))
        trial.alter_column("sample", type_=sa.BigInteger())
    {then}
'''


@pytest.fixture
def next_release(tmp_path: Path) -> Callable[..., Revisions]:
    """The revisions of a release after this one."""

    def make(then: str = "") -> Revisions:
        folder = tmp_path / f"revisions-{bool(then)}"
        shutil.copytree(OURS.folder, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = NEXT_REVISION.format(head=OURS.head, then=then)
        (folder / "versions/next.py").write_text(text)
        return Revisions("next", folder)

    return make


@pytest.fixture
def first_release(make_address: MakeAddress) -> str:
    """The address of a store as the first release left it, with a few rows."""
    address = make_address()
    if "://" in address:
        engine = sqlalchemy.create_engine(address)
        with engine.begin() as connection:
            connection.exec_driver_sql((GOLDEN / "ledger_0001.postgresql.sql").read_text())
        engine.dispose()
    else:
        engine = sqlalchemy.create_engine(f"sqlite:///{address}")
        with engine.connect() as connection:
            driver: Any = connection.connection.driver_connection
            driver.executescript((GOLDEN / "ledger_0001.sqlite.sql").read_text())
        engine.dispose()
    return address


def shape(engine: Engine) -> dict[str, Any]:
    """Columns, keys and indexes of every table, as the database tells them."""
    seen = inspect(engine)

    def told(table: str) -> dict[str, Any]:
        return {
            "columns": [
                (c["name"], str(c["type"]), c["nullable"]) for c in seen.get_columns(table)
            ],
            "primary": seen.get_pk_constraint(table),
            "foreign": sorted(map(str, seen.get_foreign_keys(table))),
            "unique": sorted(map(str, seen.get_unique_constraints(table))),
            "indexes": sorted(
                f"{one['name']} {one['column_names']} {one['unique']} "
                f"{[str(v) for k, v in one.get('dialect_options', {}).items() if 'where' in k]}"
                for one in seen.get_indexes(table)
            ),
        }

    return {table: told(table) for table in seen.get_table_names()}


def migrated(address: str) -> Engine:
    """A store that was made by every revision, one after the other, from nothing."""
    engine = open_store(address)
    with engine.begin() as connection:
        Row.metadata.drop_all(connection)
        VERSION.drop(connection)
        VERSION.create(connection)
        migrate(connection, None, OURS.folder)
    return engine


def test_tables_made_at_once_are_those_that_the_revisions_leave(
    make_address: MakeAddress, store: Engine
) -> None:
    stepwise = migrated(make_address())
    try:
        assert shape(stepwise) == shape(store)
        with stepwise.connect() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, Row.metadata) == []
    finally:
        stepwise.dispose()


def test_the_last_revision_is_the_one_that_stores_are_stamped_with(store: Engine) -> None:
    assert ScriptDirectory(str(OURS.folder)).get_current_head() == OURS.head
    with store.connect() as connection:
        assert version(connection) == OURS.head


def test_opening_a_store_of_this_release_does_not_import_alembic(tmp_path: Path) -> None:
    code = (
        "import sys; from infranoise.models.ledger.store import open_store; "
        f"[open_store({str(tmp_path / 'l.sqlite')!r}) for _ in range(2)]; "
        "assert 'alembic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_many_may_open_an_empty_store_at_once(make_address: MakeAddress) -> None:
    address = make_address()
    with ThreadPoolExecutor(6) as pool:
        engines = list(pool.map(open_store, [address] * 6))
    assert shape(engines[0])
    for engine in engines:
        assert reading.experiments(engine) == ()
        engine.dispose()


def test_a_store_of_the_first_release_keeps_all_it_holds(first_release: str, store: Engine) -> None:
    engine = open_store(first_release)
    try:
        assert shape(engine) == shape(store)
        assert reading.experiment(engine, "small").samples == 1
        assert [band.name for band in reading.bands(engine, "small")][:2] == ["1x", "1.5x"]
        assert [task.name for task in reading.tasks(engine, "small")] == ["suite/one"]
        assert reading.progress(engine, "small") == (2, 4)
        assert [(t.id, t.next_number) for t in owed(engine, "small")] == [("d", 1)]
        assert [one.node for one in under_way(engine, "small").values()] == ["local"]
        lines = list(reading.attempts(engine, "small"))
        assert [(x.id, x.verdict, x.cause) for x in lines] == [
            ("a.1", "passed", ""),
            ("b.1", "infra_error", "oom_killed"),
            ("c.1", None, None),
        ]
        assert lines[0].record is not None
    finally:
        engine.dispose()


def test_a_further_revision_changes_the_tables_and_keeps_the_rows(
    first_release: str, next_release: Callable[..., Revisions]
) -> None:
    engine, revisions = open_store(first_release), next_release()
    try:
        with ThreadPoolExecutor(3) as pool:  # whoever comes second finds it done
            list(pool.map(lambda _: bring_up_to_date(engine, revisions), range(3)))
        with engine.connect() as connection:
            assert version(connection) == "next"
            moods = connection.exec_driver_sql("SELECT DISTINCT mood FROM trial").scalars().all()
        assert moods == ["calm"]
        assert reading.progress(engine, "small") == (2, 4)
        assert len(list(reading.attempts(engine, "small"))) == 3
    finally:
        engine.dispose()


def test_a_revision_that_fails_leaves_the_store_as_it_was(
    first_release: str, next_release: Callable[..., Revisions]
) -> None:
    engine = open_store(first_release)
    before = shape(engine)
    try:
        with pytest.raises(LedgerError, match="no_such_table"):
            bring_up_to_date(engine, next_release('op.execute("SELECT * FROM no_such_table")'))
        assert shape(engine) == before
        with engine.connect() as connection:
            assert version(connection) == OURS.head
        assert reading.progress(engine, "small") == (2, 4)
    finally:
        engine.dispose()


def test_a_store_of_a_newer_release_is_refused(
    first_release: str, next_release: Callable[..., Revisions]
) -> None:
    engine = open_store(first_release)
    bring_up_to_date(engine, next_release())
    engine.dispose()
    with pytest.raises(LedgerError, match=r"store .*: its tables are of a newer release"):
        open_store(first_release)


def test_tables_without_a_version_are_refused(first_release: str) -> None:
    engine = open_store(first_release)
    with engine.begin() as connection:
        VERSION.drop(connection)
    engine.dispose()
    with pytest.raises(LedgerError, match="before the first release"):
        open_store(first_release)
