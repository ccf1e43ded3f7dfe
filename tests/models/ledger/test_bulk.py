"""Statements over many rows: what is written is what is read, whatever is in it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, delete, select

from infranoise.models.ledger.bulk import AT_ONCE, among, insert_if_absent, insert_rows, update_rows
from infranoise.models.ledger.tables import NODE, NODE_PROFILE
from infranoise.models.ledger.writing import writing

COLUMNS = ("hash", "first_seen_at", "document")
# What COPY's text form gives a meaning to, among everything else that a text may hold.
texts = st.text(
    st.characters(exclude_characters="\0", codec="utf-8") | st.sampled_from("\t\n\r\\N")
)
rows = st.dictionaries(texts, st.tuples(st.floats(allow_nan=False), texts), max_size=20)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows)
def test_rows_read_back_as_they_were_written(
    rows: dict[str, tuple[float, str]], store: Engine
) -> None:
    with writing(store) as connection:
        connection.execute(delete(NODE_PROFILE))
        insert_rows(connection, NODE_PROFILE, COLUMNS, ((k, *v) for k, v in rows.items()))
    with store.connect() as connection:
        found = {k: tuple(v) for k, *v in connection.execute(select(NODE_PROFILE))}
        assert found == rows
        some = list(rows)[::2]
        query = select(NODE_PROFILE.c.hash).where(among(connection, NODE_PROFILE.c.hash, some))
        assert sorted(connection.scalars(query)) == sorted(some)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.dictionaries(texts, st.integers(-99, 99), min_size=1), data=st.data())
def test_updated_are_the_rows_that_are_named_and_no_others(
    before: dict[str, int], data: st.DataObject, store: Engine
) -> None:
    changed = data.draw(st.dictionaries(st.sampled_from(sorted(before)), st.integers(-99, 99)))
    for add in (False, True):
        with writing(store) as connection:
            connection.execute(delete(NODE))
            insert_rows(connection, NODE, ("id", "seen_at"), before.items())
        with writing(store) as connection:
            new = ((value, id_) for id_, value in changed.items())
            update_rows(connection, NODE, ("seen_at",), new, add=add)
        with store.connect() as connection:
            after = {k: v for k, v in connection.execute(select(NODE.c.id, NODE.c.seen_at))}
        assert after == {
            k: (v * add + changed[k]) if k in changed else v for k, v in before.items()
        }


def test_nothing_at_all_is_written_too(store: Engine) -> None:
    with writing(store) as connection:
        insert_rows(connection, NODE, ("id", "seen_at"), ())
        update_rows(connection, NODE, ("seen_at",), ())
        assert (
            connection.scalars(select(NODE.c.id).where(among(connection, NODE.c.id, ()))).all()
            == []
        )


def test_rows_are_taken_as_they_come(store: Engine) -> None:
    count = 2 * AT_ONCE + 1
    with writing(store) as connection:
        insert_rows(connection, NODE, ("id", "seen_at"), ((f"n{n}", n) for n in range(count)))
        names = [f"n{n}" for n in range(count)]
        found = connection.scalars(select(NODE.c.id).where(among(connection, NODE.c.id, names)))
        assert len(found.all()) == count


@pytest.mark.parametrize("times", [1, 3])
def test_a_row_that_is_there_stays_as_it_is(store: Engine, times: int) -> None:
    with writing(store) as connection:
        told = [insert_if_absent(connection, NODE, {"id": "n", "seen_at": n}) for n in range(times)]
        assert told == [True] + [False] * (times - 1)
        assert connection.scalars(select(NODE.c.seen_at)).all() == [0.0]
