"""The band report."""

import json
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infranoise.analysis.bands import BandRow, bands
from infranoise.analysis.cells import Cells
from infranoise.analysis.columns import Columns
from infranoise.analysis.flags import Flag
from infranoise.analysis.read import read_table
from infranoise.models.errors import DesignError

GOLDEN = Path(__file__).parents[1] / "golden"
R = {row["id"]: row["expected"] for row in json.loads((GOLDEN / "effects.json").read_text())}
BANDS = ("1x", "1.5x", "2x", "3x", "5x", "uncapped")


@pytest.fixture(scope="module")
def article() -> dict[str, BandRow]:
    columns = Columns.parse("band=band,n=n,passes=success,infra_errors=infra")
    return {row.band: row for row in bands(read_table(GOLDEN / "article.csv", columns))}


def test_the_published_counts_give_the_naive_p_values_of_r(article: dict[str, BandRow]) -> None:
    found = R["C08"]
    assert tuple(article) == BANDS
    assert article["3x"].infra_lift.p_naive == pytest.approx(found["p_infra_1x_3x"], rel=1e-9)
    assert article["3x"].lift.p_naive == pytest.approx(found["p_score_1x_3x"], rel=1e-9)
    assert article["uncapped"].lift.p_naive == pytest.approx(found["p_score_1x_unc"], rel=1e-9)


def test_not_significant_is_not_equivalent(article: dict[str, BandRow]) -> None:
    row = article["3x"]
    assert row.lift.p_naive > 0.4
    assert row.equivalence.p_same > 0.05
    assert row.equivalence.smallest_margin_same == pytest.approx(0.0577, abs=1e-4)


def test_a_score_is_told_strictly_without_infra_errors_and_as_bounds() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"], "entry": ["m", "m"], "band": ["1x", "1x"]},
        n=[10, 10],
        passed=[4, 6],
        infra=[2, 0],
    )
    (row,) = bands(cells)
    assert row.infra_rate.est == 0.1
    assert row.score.strict.est == pytest.approx(0.5)
    assert row.score.excluded.est == pytest.approx((4 / 8 + 6 / 10) / 2)
    assert row.score.bounds == pytest.approx((0.5, 0.6))
    assert row.score.strict.se_same == pytest.approx(np.sqrt(2 * 0.24 / 9) / 2)
    assert row.score.strict.se_new == pytest.approx(0.1)


def test_a_band_that_was_not_run_is_a_row_that_says_so() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "a"], "entry": ["m", "m"], "band": ["1x", "3x"]}, n=[5, 0], passed=[2, 0]
    )
    row = bands(cells)[1]
    assert (row.n, row.score, row.infra_rate, row.lift) == (0, None, None, None)
    assert row.flags == (Flag.NO_TRIALS,)


def test_bands_without_a_common_task_are_not_compared() -> None:
    cells = Cells.of_counts(
        {"task": ["a", "b"], "entry": ["m", "m"], "band": ["1x", "3x"]}, n=[5, 5], passed=[2, 3]
    )
    row = bands(cells)[1]
    assert (row.lift, row.flags) == (None, (Flag.UNPAIRED,))
    assert row.score.strict.est == 0.6


def test_an_unknown_reference_is_refused() -> None:
    cells = Cells.of_counts({"task": ["a"], "entry": ["m"], "band": ["1x"]}, n=[5], passed=[2])
    with pytest.raises(DesignError, match="it has: 1x"):
        bands(cells, "2x")
    with pytest.raises(DesignError, match="fraction"):
        bands(cells, margin=3.0)


COUNTS = st.lists(
    st.tuples(
        st.integers(0, 3), st.integers(0, 1), st.integers(0, 2), st.integers(0, 3),
        st.integers(0, 3), st.integers(0, 1),
    ),
    min_size=1,
    max_size=14,
)  # fmt: skip


def _cells(rows: list[tuple[int, ...]]) -> Cells:
    task, entry, band, failed, passed, infra = (list(column) for column in zip(*rows, strict=True))
    return Cells.of_counts(
        {"task": task, "entry": entry, "band": band},
        n=np.add(np.add(failed, passed), infra),
        passed=passed,
        infra=infra,
    )


def _numbers(value: object) -> list[float]:
    if is_dataclass(value):
        return [x for f in fields(value) for x in _numbers(getattr(value, f.name))]
    if isinstance(value, tuple):
        return [x for item in value for x in _numbers(item)]
    return [float(value)] if isinstance(value, int | float) else []


@given(COUNTS)
def test_whatever_the_counts_no_number_is_nan_or_endless(rows: list[tuple[int, ...]]) -> None:
    assert all(np.isfinite(x) for row in bands(_cells(rows)) for x in _numbers(row))


@given(COUNTS)
def test_new_names_for_tasks_and_entries_change_nothing(rows: list[tuple[int, ...]]) -> None:
    renamed = [(7 - row[0], 4 - row[1], *row[2:]) for row in rows]
    before, after = bands(_cells(rows)), bands(_cells(renamed))
    for one, other in zip(before, after, strict=True):
        assert _numbers(one) == pytest.approx(_numbers(other), abs=1e-12)


@given(COUNTS)
def test_rows_split_in_two_are_the_same_cells(rows: list[tuple[int, ...]]) -> None:
    parts = [(*r[:3], r[3], 0, 0) for r in rows] + [(*r[:3], 0, r[4], r[5]) for r in rows]
    assert [asdict(r) for r in bands(_cells(rows))] == [asdict(r) for r in bands(_cells(parts))]


def test_twice_the_data_leaves_the_estimate_and_narrows_it_by_a_little_over_root_two() -> None:
    rng = np.random.default_rng(2)
    task, band = np.indices((30, 2)).reshape(2, -1)
    hits = rng.integers(0, 6, 60)
    factors = {"task": task, "entry": ["m"] * 60, "band": band}
    once = bands(Cells.of_counts(factors, n=[5] * 60, passed=hits))[1].lift
    twice = bands(Cells.of_counts(factors, n=[10] * 60, passed=2 * hits))[1].lift
    assert twice.est == pytest.approx(once.est)
    assert once.se_same / twice.se_same == pytest.approx(np.sqrt(9 / 4))
    assert twice.se_new == pytest.approx(once.se_new)
