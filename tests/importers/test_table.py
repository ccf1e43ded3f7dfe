"""Specification of the table importer: columns by role, in every format."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from infranoise.importers.table_columns import TableColumns
from infranoise.models.errors import DesignError

from .conftest import Took

Take = Callable[..., Took]
NAMES = ("problem", "who", "cfg", "ok", "why", "job", "when")
ROWS = [
    dict(zip(NAMES, row, strict=True))
    for row in (
        ("a", "m", "1x", 1, "", "j", "2026-11-20T12:00:00Z"),
        ("a", "m", "3x", 0, "", "j", "2026-11-20T12:01:00Z"),
        ("b", "m", "3x", None, "evicted", "j", None),
    )
]
COLUMNS = "task=problem,passed=ok,entry=who,band=cfg,run=job,mode=why,started=when"


def write_as(suffix: str, folder: Path, rows: list[dict[str, object]]) -> Path:
    path = folder / f"trials{suffix}"
    table = pl.DataFrame(rows)
    match suffix:
        case ".csv":
            table.write_csv(path)
        case ".tsv":
            table.write_csv(path, separator="\t")
        case ".parquet":
            table.write_parquet(path)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".jsonl"])
def test_a_table_says_the_same_in_every_format(take: Take, tmp_path: Path, suffix: str) -> None:
    took = take("table", write_as(suffix, tmp_path, ROWS), columns=COLUMNS)
    ends = [(line.task, line.band, line.verdict, line.cause) for line in took.attempts]
    assert ends == [
        ("a", "1x", "passed", ""),
        ("a", "3x", "failed", "wrong"),
        ("b", "3x", "infra_error", "evicted"),
    ]
    assert took.attempts[0].record is not None
    assert took.attempts[0].record.conditions.hour_utc == 12
    assert took.brought.bands == ("1x", "3x")


OUTCOMES: dict[str, tuple[str, str | None]] = {
    "1": ("1", "passed"), "true": ("TRUE", "passed"), "yes": ("yes", "passed"),
    "0": ("0", "failed"), "no": ("no", "failed"), "a part": ("0.5", "failed"),
    "nothing": ("", "infra_error"), "null": ("null", "infra_error"),
}  # fmt: skip


@pytest.mark.parametrize("case", OUTCOMES)
def test_an_outcome_may_be_written_in_many_ways(take: Take, tmp_path: Path, case: str) -> None:
    text, verdict = OUTCOMES[case]
    path = tmp_path / "t.csv"
    path.write_text(f"task,passed\na,{text}\n")
    assert take("table", path, columns="task=task,passed=passed").attempts[0].verdict == verdict


def test_equal_rows_are_trials_of_their_own_and_the_same_table_changes_nothing(
    take: Take, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("task,passed\na,1\na,1\na,0\n")
    assert take("table", path, columns="task=task,passed=passed").cells[0].n == 3
    path.write_text("task,passed\na,1\na,1\na,0\na,1\n")  # it grew
    took = take("table", path, columns="task=task,passed=passed")
    assert (took.brought.adopted.new, took.brought.adopted.known) == (1, 3)


def test_a_copy_of_a_table_is_named_and_left_out(take: Take, tmp_path: Path) -> None:
    for name in ("one.csv", "two.csv"):
        (tmp_path / name).write_text("task,passed\na,1\n")
    took = take("table", tmp_path, columns="task=task,passed=passed")
    assert took.cells[0].n == 1
    assert took.faults[0].endswith("two.csv: is a copy of " + str(tmp_path / "one.csv"))


def test_further_factors_and_names_of_trials(take: Take, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("task,passed,id,c,err\na,1,x,8,0\na,0,y,24,1\n")
    columns = "task=task,passed=passed,id=id,concurrency=c,infra_error=err"
    took = take("table", path, columns=columns)
    assert {cell.levels["concurrency"]: cell.infra_errors for cell in took.cells} == {
        "8": 0, "24": 1,
    }  # fmt: skip
    assert [
        line.record.origin.id for line in took.attempts if line.record and line.record.origin
    ] == ["x", "y"]


WRONG_COLUMNS = {
    "task=a": "needs task=COLUMN and passed=COLUMN",
    "task=a,passed=b,pased=c": "did you mean 'passed'",
    "task=a,passed": "not of the form",
    "task=a,task=b,passed=c": "given twice",
}


@pytest.mark.parametrize("text", WRONG_COLUMNS)
def test_a_wrong_map_of_columns_says_what_is_wrong(text: str) -> None:
    with pytest.raises(DesignError, match=WRONG_COLUMNS[text]):
        TableColumns.parse(text)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    take: Take, tmp_path: Path, suffix: str
) -> None:
    took = take("table", write_as(suffix, tmp_path, ROWS), columns="task=problem,passed=nope")
    assert "nope" in took.faults[0]
    assert "there are: problem" in took.faults[0]
