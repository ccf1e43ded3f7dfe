"""Tables of trials or of counts, collapsed as they stream by."""

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infranoise.analysis import collapse as collapsing
from infranoise.analysis.cells import Cells
from infranoise.analysis.collapse import collapse
from infranoise.analysis.columns import Columns
from infranoise.analysis.integer_coding import IntegerCoder
from infranoise.analysis.read import read_table
from infranoise.models.errors import DesignError, InfranoiseError, SampleTooSmall

COLUMNS = Columns.parse("task=t,entry=m,band=b,passed=y,infra_error=err", {"node": "node"})


@pytest.fixture
def trials() -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = 5_000
    err = rng.random(rows) < 0.05
    return pl.DataFrame(
        {
            "t": [f"task-{i}" for i in rng.integers(0, 30, rows)],
            "m": [f"model {i}" for i in rng.integers(0, 3, rows)],
            "b": [("1x", "3x", "uncapped")[i] for i in rng.integers(0, 3, rows)],
            "node": rng.integers(0, 4, rows),
            "y": (rng.random(rows) < 0.4) & ~err,
            "err": err,
        }
    )


def _plain(cells: Cells) -> dict[tuple[str, ...], tuple[float, ...]]:
    """Label by label, what a cell holds."""
    labels = zip(
        *([cells.levels[f][i] for i in cells.codes[f]] for f in cells.factors), strict=True
    )
    counts = zip(
        cells.n, cells.passed, cells.infra, cells.reward_sum, cells.reward_sumsq, strict=True
    )
    return dict(zip(labels, counts, strict=True))


def _expected(trials: pl.DataFrame) -> dict[tuple[str, ...], tuple[float, ...]]:
    by = ["t", "m", "b", "node"]
    sums = trials.group_by(by).agg(pl.len(), pl.col("y").sum(), pl.col("err").sum())
    return {(t, m, b, str(node)): (n, y, e, y, y) for t, m, b, node, n, y, e in sums.iter_rows()}


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_file_gives_the_counts_of_its_rows(
    trials: pl.DataFrame, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / f"trials.{kind}"
    if kind == "parquet":
        trials.write_parquet(path)
    else:
        trials.write_csv(path, separator="\t" if kind == "tsv" else ",")
    assert _plain(read_table(path, COLUMNS)) == _expected(trials)


def test_it_makes_no_difference_how_the_counting_is_done(
    trials: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _expected(trials)
    assert _plain(collapse(trials.lazy(), COLUMNS, seekable=False)) == expected
    monkeypatch.setattr(collapsing, "ROWS_PER_READ", 700)
    assert _plain(collapse(trials.lazy(), COLUMNS, seekable=True)) == expected
    monkeypatch.setattr(collapsing, "MOST_SLOTS", 4)
    assert _plain(collapse(trials.lazy(), COLUMNS)) == expected


def test_a_table_of_counts_gives_the_same_cells_as_its_trials(trials: pl.DataFrame) -> None:
    counts = trials.group_by("t", "m", "b", "node").agg(
        pl.len().alias("n"), pl.col("y").sum().alias("s"), pl.col("err").sum().alias("e")
    )
    columns = Columns.parse("task=t,entry=m,band=b,n=n,passes=s,infra_errors=e", {"node": "node"})
    assert _plain(collapse(counts.lazy(), columns)) == _expected(trials)


@pytest.mark.parametrize(
    ("passed", "infra"),
    [
        ([True, False, None], [False, False, False]),
        ([1, 0, None], [0, 0, None]),
        (["True", "false", ""], ["0", "0", "1"]),
        ([1.0, 0.0, None], [0.0, 0.0, 1.0]),
        ([1.0, 0.0, float("nan")], [None, None, None]),
    ],
)
def test_verdicts_may_be_written_in_many_ways_and_a_missing_one_is_an_infra_error(
    passed: list[object], infra: list[object]
) -> None:
    table = pl.DataFrame({"b": ["1x"] * 3, "y": passed, "err": infra}, strict=False)
    cells = collapse(table.lazy(), Columns.parse("band=b,passed=y,infra_error=err"))
    assert (cells.n[0], cells.passed[0], cells.infra[0]) == (3, 1, 1)
    assert cells.levels["task"] == ("all",)


def test_fractions_keep_their_sum_and_sum_of_squares() -> None:
    table = pl.DataFrame({"b": ["1x"] * 3, "y": [0.25, 1.0, 0.5]})
    cells = collapse(table.lazy(), Columns.parse("band=b,passed=y"))
    assert (cells.passed[0], cells.reward_sum[0], cells.reward_sumsq[0]) == (1, 1.75, 1.3125)


def test_more_labels_than_a_small_table_holds_are_told_apart() -> None:
    labels = [f"wave-{i % 3000}" for i in range(9_000)]
    table = pl.DataFrame({"w": labels, "y": [i % 3 == 0 for i in range(9_000)]})
    cells = collapse(table.lazy(), Columns.parse("passed=y", {"wave": "w"}))
    assert len(cells) == 3000
    assert set(cells.n.tolist()) == {3}
    assert cells.levels["wave"][:2] == ("wave-0", "wave-1")


REFUSED = {
    "a trial that passed and was an infra error": (
        {"b": ["1x"], "y": [True], "err": [True]},
        "1 rows contradict themselves",
    ),
    "a verdict of 2": ({"b": ["1x"], "y": [2], "err": [0]}, "contradict"),
    "a reward above 1": ({"b": ["1x"], "y": [1.2], "err": [0]}, "contradict"),
    "a word that is no verdict": ({"b": ["1x"], "y": ["maybe"], "err": [0]}, "contradict"),
    "a word that is no infra error": ({"b": ["1x"], "y": [0], "err": ["eh"]}, "contradict"),
    "a row without a label": ({"b": [None, "1x"], "y": [1, 1], "err": [0, 0]}, "without a label"),
    "no such column": ({"c": ["1x"], "y": [1], "err": [0]}, "no column 'b'"),
    "a verdict column of dates": (
        {"b": ["1x"], "y": [date(2026, 2, 5)], "err": [0]},
        "a verdict is true or false",
    ),
    "no rows": (
        {"b": pl.Series([], dtype=pl.String), "y": pl.Series([], dtype=pl.Boolean), "err": []},
        "no trial",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_counted_is_refused_with_the_reason(case: str) -> None:
    table, says = REFUSED[case]
    frame = pl.DataFrame(table, strict=False)
    if frame.height == 0:
        frame = frame.with_columns(pl.col("err").cast(pl.Boolean))
    with pytest.raises(InfranoiseError, match=says):
        collapse(frame.lazy(), Columns.parse("band=b,passed=y,infra_error=err"))


def test_an_empty_table_is_too_small_and_a_missing_file_no_design(tmp_path: Path) -> None:
    columns = Columns.parse("band=b,passed=y")
    empty = pl.DataFrame(schema={"b": pl.String, "y": pl.Boolean})
    with pytest.raises(SampleTooSmall):
        collapse(empty.lazy(), columns)
    with pytest.raises(DesignError, match="no such table"):
        read_table(tmp_path / "nowhere.csv", columns)
    (tmp_path / "table.xlsx").touch()
    with pytest.raises(DesignError, match=r"not a \.csv"):
        read_table(tmp_path / "table.xlsx", columns)


MAPS = {
    "task=t,pased=y": "did you mean 'passed'",
    "task=t": "give passed=COLUMN",
    "task=t,passed=y,n=n,passes=s": "give passed=COLUMN",
    "task": "not of the form",
    "task=t,task=u,passed=y": "given twice",
    "passed=y": "at least one of task",
}


@pytest.mark.parametrize("text", MAPS)
def test_a_column_map_that_makes_no_sense_says_what_would(text: str) -> None:
    with pytest.raises(DesignError, match=MAPS[text]):
        Columns.parse(text)


NUMBERS = st.integers(-(2**33), 2**33) | st.integers(-3, 300)


@settings(max_examples=25)
@given(st.lists(st.lists(NUMBERS, min_size=1), min_size=1))
def test_numbers_are_coded_alike_however_far_apart_and_in_however_many_batches(
    batches: list[list[int]],
) -> None:
    coder, seen = IntegerCoder("task"), list[int]()
    for batch in batches:
        codes = coder.codes(np.array(batch, dtype=np.int64))
        assert [coder.labels[code] for code in codes] == [str(number) for number in batch]
        seen += batch
    assert sorted(map(int, coder.labels)) == sorted(set(seen))
    names, place = coder.order()
    assert [names[place[k]] for k in range(len(coder.labels))] == coder.labels


def test_whole_numbers_and_the_same_as_text_make_the_same_cells() -> None:
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"task": rng.integers(-2, 9, 400), "node": rng.integers(0, 3, 400),
                         "passed": rng.random(400) < 0.5})  # fmt: skip
    columns = Columns(task="task", passed="passed", factors={"node": "node"})
    one = collapse(rows.lazy(), columns)
    text = rows.with_columns(pl.col("task", "node").cast(pl.String))
    other = collapse(text.lazy(), columns)
    assert one.levels == other.levels
    for name in ("task", "node"):
        assert one.codes[name].tolist() == other.codes[name].tolist()
    assert (one.n.tolist(), one.passed.tolist()) == (other.n.tolist(), other.passed.tolist())
    holed = rows.with_columns(task=pl.when(pl.col("node") > 0).then(pl.col("task")))
    with pytest.raises(DesignError, match="'task' has rows without a label"):
        collapse(holed.lazy(), columns)


def test_a_column_may_change_its_kind_far_down_a_csv(tmp_path: Path) -> None:
    rows = [f"{k % 3},{k % 2}" for k in range(12_000)] + ["last,0.5"]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["task,passed", *rows]) + "\n")
    cells = read_table(path, Columns(task="task", passed="passed"))
    assert cells.levels["task"] == ("0", "1", "2", "last")
    assert (int(cells.n.sum()), float(cells.reward_sum.sum())) == (12_001, 6_000.5)


def test_a_file_that_is_no_table_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(DesignError, match=r"table.parquet: this table cannot be read"):
        read_table(path, Columns(task="task", passed="passed"))
