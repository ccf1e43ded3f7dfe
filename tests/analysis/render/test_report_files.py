"""The report as files: what is written, and that spreadsheets and terminals are safe from it."""

import csv
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console
from sqlalchemy import Engine

from infranoise.analysis.cells import Cells
from infranoise.analysis.findings import findings
from infranoise.analysis.hibayes import hibayes_of_cells
from infranoise.analysis.read_ledger import Study, read_study
from infranoise.analysis.render import files
from infranoise.analysis.render.files import write_csv, write_files
from infranoise.analysis.render.terminal import findings_text
from infranoise.analysis.run_facts import known, run_facts
from infranoise.analysis.study_cells import study_cells
from infranoise.analysis.tables import tables
from infranoise.models.errors import DesignError

type MakeLedger = Callable[..., Engine]


@pytest.fixture
def study(make_ledger: MakeLedger) -> Study:
    return read_study(make_ledger())


def printed(study: Study, width: int = 80) -> str:
    run, out = run_facts(study), StringIO()
    found = findings(*study_cells(study), known(run))
    Console(file=out, width=width, force_terminal=False).print(findings_text(found, run))
    return out.getvalue()


def test_a_report_is_a_page_a_document_the_attempts_and_every_table(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "page", lambda *_: "<!doctype html>")
    run = run_facts(study)
    found = findings(*study_cells(study), known(run))
    shown = write_files(tmp_path / "out", found, run, study.attempts)
    assert shown == tmp_path / "out" / "report.html"
    names = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert {"report.html", "report.json", "trials.parquet", "tables/bands.csv"} <= names
    assert not [name for name in names if name.startswith(".")], "drafts are gone"
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert document["run"]["planned"] == 36
    assert pl.read_parquet(tmp_path / "out" / "trials.parquet").height == 36
    bayes = pl.read_parquet(tmp_path / "out" / "hibayes" / "data.parquet")
    assert bayes.columns[:5] == ["score", "model", "task", "dataset", "epoch"]
    assert (bayes.height, bayes["score"].sum(), bayes["infra_error"].sum()) == (36, 30.0, 6)
    bands = list(csv.DictReader(StringIO((tmp_path / "out/tables/bands.csv").read_text())))
    assert [row["band"] for row in bands] == ["1x", "2x", "uncapped"]
    assert float(bands[2]["lift.est"]) == pytest.approx(1 / 3)
    assert bands[0]["lift.est"] == ""
    assert "lift" not in bands[0], "what is absent here has its columns elsewhere"


def test_every_table_is_flat(study: Study) -> None:
    run = run_facts(study)
    made = tables(findings(*study_cells(study), known(run)), run)
    assert {"bands", "splits", "entries", "heat_map", "causes", "killed_then_passed", "nodes",
            "clocks", "ceilings", "gaps"} <= made.keys()  # fmt: skip
    values = [value for rows in made.values() for row in rows for value in row.values()]
    assert all(value is None or isinstance(value, str | int | float) for value in values)


def test_text_that_a_spreadsheet_would_run_is_quoted(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"name": "=HYPERLINK(1)", "n": -3}, {"name": "plain", "n": 4}])
    assert (tmp_path / "t.csv").read_text().split() == ["name,n", "'=HYPERLINK(1),-3", "plain,4"]


def test_the_terminal_shows_the_sentences_the_bands_the_causes_and_the_rescued(
    study: Study,
) -> None:
    text = printed(study)
    assert text.startswith("Infrastructure, not the policy, ended 4 of 12 trials")
    for piece in (
        "1x             12      33.3",
        "Lift of the score against 1x",
        "heavy  policy    33.3 %",
        "Infra errors by cause",
        "b      heavy   2K   2P         2P            2 of 2",
        "ceilings enforced by: test (36)",
    ):
        assert piece in text


def test_the_tables_fit_a_narrow_terminal(study: Study) -> None:
    assert max(len(line) for line in printed(study).splitlines()) <= 80


def test_no_name_is_cut_off_in_a_narrow_terminal(make_ledger: MakeLedger) -> None:
    names = [
        {"agent": "policy", "model": "heavy", "name": f"{letter}{'-long' * 7}"} for letter in "ab"
    ]
    text = printed(read_study(make_ledger(entries=names)), width=60)
    assert "…" not in text


def test_a_hostile_name_cannot_steer_the_terminal(make_ledger: MakeLedger) -> None:
    name = "\x1b]0;owned\x07[bold red]x[/]"
    entries = [
        {"agent": "policy", "model": "lean", "name": name},
        {"agent": "policy", "model": "heavy"},
    ]
    text = printed(read_study(make_ledger(entries=entries)), width=200)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "␛]0;owned␇[bold red]x[/]" in text


EVERY_TABLE = {
    "bands", "splits", "entries", "heat_map", "ranks", "ceilings", "gaps", "components", "factors",
    "factor_levels", "noise_budget", "noise_budget_new", "entry_by_band", "rank_flips", "trend",
    "crosscheck", "design", "causes", "killed_then_passed", "kills", "nodes", "settings",
    "readings", "deviations", "clocks",
}  # fmt: skip


def test_every_table_of_the_report_can_be_had_as_csv(study: Study) -> None:
    run = run_facts(study)
    made = tables(findings(*study_cells(study), known(run)), run)
    assert made.keys() | {"rank_changes"} >= EVERY_TABLE
    effects = {row["effect"] for row in made["components"]}
    assert {"task", "entry", "band", "task:band", "within", "total"} <= effects
    assert {row["factor"] for row in made["factor_levels"]} == {"band"}
    assert all("agree" in row for row in made["crosscheck"])


def test_the_trials_of_a_table_are_there_for_hibayes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "page", lambda *_: "<!doctype html>")
    labels = {"task": ["x", "x"], "entry": ["a", "a"], "band": ["1x", "3x"], "node": ["n", "m"]}
    cells = Cells.of_counts(labels, n=[3, 2], passed=[1, 2], infra=[1, 0])
    write_files(tmp_path, findings(cells), title="theirs.csv", cells=cells)
    rows = pl.read_parquet(tmp_path / "hibayes" / "data.parquet")
    assert rows.columns == ["score", "model", "task", "dataset", "epoch", "infra_error", "band",
                            "node"]  # fmt: skip
    assert rows.select("band", "epoch", "score", "infra_error").rows() == [
        ("1x", 1, 1.0, 0), ("1x", 2, 0.0, 0), ("1x", 3, 0.0, 1), ("3x", 1, 1.0, 0),
        ("3x", 2, 1.0, 0),
    ]  # fmt: skip
    fractions = Cells.of_counts(
        labels, n=[3, 2], passed=[0, 0], reward_sum=[0.5, 0.7], reward_sumsq=[0.2, 0.4]
    )
    with pytest.raises(DesignError, match="single rewards"):
        hibayes_of_cells(fractions, "theirs")
