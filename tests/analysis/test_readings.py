"""Readings of attempts: as levels of an observed factor, and as warnings in the report."""

from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine

from infranoise.analysis.binned import binned, is_reading
from infranoise.analysis.factor import Factor
from infranoise.analysis.findings import findings
from infranoise.analysis.read_ledger import Study, read_study
from infranoise.analysis.run_facts import run_facts
from infranoise.analysis.study_cells import study_cells


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=40))
def test_levels_of_a_reading_keep_its_order_and_lose_no_attempt(values: list[float | None]) -> None:
    column = pl.Series("x", values, dtype=pl.Float64)
    levels, order = binned(column)
    assert levels.is_null().to_list() == column.is_null().to_list()
    assert set(levels.drop_nulls()) == set(order)
    assert len(order) <= 4
    ranks = [order.index(level) for level in levels.drop_nulls()]
    by_value = sorted(zip(column.drop_nulls(), ranks))
    assert [rank for _, rank in by_value] == sorted(ranks)


def test_few_whole_numbers_are_levels_and_measured_ones_are_readings() -> None:
    assert not is_reading(pl.Series([0, 1, 2, None]))
    assert is_reading(pl.Series(range(50)))
    assert is_reading(pl.Series([0.5]))
    assert not is_reading(pl.Series(["a"]))


@pytest.fixture
def study(make_ledger: Callable[..., Engine]) -> Study:
    made = read_study(make_ledger())
    calm = made.attempts.with_columns(
        pl.int_range(pl.len()).cast(pl.Float64).alias("peak_load1"),
        warnings=pl.when(pl.col("sample") == 0)
        .then(pl.lit(["turbo", "clock_step"]))
        .otherwise(pl.lit(["turbo"])),
    )
    return Study(
        **{
            name: calm if name == "attempts" else getattr(made, name)
            for name in Study.__dataclass_fields__
        }
    )


def test_a_load_enters_as_an_association_in_quarters(study: Study) -> None:
    found = findings(*study_cells(study, more=[Factor("peak_load1")]))
    assert found.attribution is not None
    row = next(row for row in found.attribution.factors if row.factor == "peak_load1")
    assert row.role == "observed"
    assert [row.reference, *(level.level for level in row.levels)] == [
        *("0 to 9", "10 to 18", "19 to 26", "27 to 35"),
    ]


def test_warnings_are_counted_with_what_they_say(study: Study) -> None:
    warned = {one.warning: (one.attempts, one.judged) for one in run_facts(study).warned}
    assert warned == {"turbo": (36, 36), "clock_step": (18, 36)}
    assert all(one.meaning for one in run_facts(study).warned)
