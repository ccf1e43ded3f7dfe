"""`report` and `analyze`: what they read, write, print and refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.analysis.render import files
from infranoise.cli.analyze import analyze
from infranoise.cli.report import open_source, report
from infranoise.models.errors import DesignError, LedgerError
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord
from infranoise.models.task import Task
from infranoise.scheduler.plan import plan

ROLES = "task=t,entry=m,band=b,n=n,passes=s,infra_errors=err"
TABLE = "t,m,b,n,s,err\na,x,1x,10,4,2\na,x,3x,10,7,0\nb,x,1x,10,2,1\nb,x,3x,10,4,0\n"


@pytest.fixture(autouse=True)
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Charts have tests of their own."""
    monkeypatch.setattr(files, "page", lambda *_: "<!doctype html>")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "trials.csv"
    path.write_text(TABLE)
    return path


def analyzed(source: Path, capsys: pytest.CaptureFixture[str], **more: object) -> dict:  # type: ignore[type-arg]
    asked: dict[str, object] = {
        "columns": [ROLES],
        "factors": [],
        "reference": None,
        "margin_points": 3.0,
        "experiment": None,
        "out": None,
        "as_json": True,
    }
    assert analyze(str(source), **(asked | more)) == 0  # type: ignore[arg-type]
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_a_table_of_counts_gives_its_findings_as_json(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = analyzed(table, capsys)
    assert [row["band"] for row in found["bands"]] == ["1x", "3x"]
    assert found["bands"][1]["lift"]["est"] == pytest.approx(0.25)
    assert found["opening"][0].startswith("Infrastructure, not the agent, ended 3 of 20 trials")


def test_the_reference_and_the_margin_can_be_named(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = analyzed(table, capsys, reference="3x", margin_points=5.0)
    assert found["reference"] == "3x"
    assert found["bands"][0]["equivalence"]["margin"] == 0.05


def test_columns_that_bear_the_names_of_their_roles_need_no_naming(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "named.csv"
    path.write_text(TABLE.replace("t,m,b,n,s,err", "task,entry,band,n,passes,infra_errors"))
    assert analyzed(path, capsys, columns=[])["bands"][0]["n"] == 20


def test_further_columns_are_factors(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = TABLE.splitlines()
    rows = [f"{line},{node}" for k, line in enumerate(lines[1:]) for node in ("n1", "n2")[: 1 + k]]
    table.write_text("\n".join([f"{lines[0]},node", *rows]) + "\n")
    found = analyzed(table, capsys, factors=["node"])
    roles = {row["factor"]: row["role"] for row in found["factors"]}
    assert roles == {"band": "assigned", "node": "observed"}


def test_a_table_without_a_word_on_its_columns_asks_for_them(table: Path) -> None:
    with pytest.raises(DesignError, match="which column means what"):
        analyze(
            str(table), columns=[], factors=[], reference=None, margin_points=3.0,
            experiment=None, out=None, as_json=True,
        )  # fmt: skip


def test_analyze_can_write_the_report_of_a_table(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    analyzed(table, capsys, out=tmp_path / "out")
    assert (tmp_path / "out" / "report.json").is_file()
    assert not (tmp_path / "out" / "trials.parquet").exists(), "a table has no attempts"


def test_the_noise_of_another_design_can_be_asked_for(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = analyzed(table, capsys)["noise_budget_total"]
    asked = analyzed(table, capsys, budget_at="tasks=89, samples=40, entries=2")
    assert ran["design"] == {"tasks": 2, "samples": 10.0, "entries": 1}
    assert asked["noise_budget_total"]["design"] == {"tasks": 89, "samples": 40.0, "entries": 2}
    assert asked["noise_budget_total"]["sd_points"] < ran["sd_points"]
    for text in ("tasks=89", "tasks=2,samples=3,nodes=1", "tasks=0,samples=1"):
        with pytest.raises(DesignError):
            analyzed(table, capsys, budget_at=text)


def test_two_bands_can_be_judged_as_identical_arms(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyzed(table, capsys)["aa"] is None
    found = analyzed(table, capsys, arms=True)["aa"]
    assert found["arms"] == ["1x", "3x"]
    assert found["sentence"].startswith("The instrument")


@pytest.fixture
def run_folder(
    tmp_path: Path,
    make_task: Callable[..., Task],
    make_experiment: Callable[..., Experiment],
    make_record: Callable[..., AttemptRecord],
) -> Path:
    """The folder of a run in which every trial passed."""
    folder = tmp_path / "run"
    experiment, tasks = make_experiment(), [make_task()]
    engine = open_store(folder / "ledger.sqlite")
    enrol(engine, experiment, tasks, plan(experiment, tasks).waves)
    trials = owed(engine, experiment.name)
    place(engine, experiment.name, "local", trials)
    ingest(engine, [Ending.of(make_record(trial.id)) for trial in trials], 1)
    engine.dispose()
    return folder


def test_a_runs_folder_is_reported_and_analyzed(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(str(run_folder), experiment=None, out=None, as_json=True, open_page=False) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"]["ended"] == 24
    assert document == json.loads((run_folder / "report.json").read_text())
    assert (run_folder / "trials.parquet").is_file()
    assert analyzed(run_folder, capsys, columns=[]) == document


def test_a_place_without_a_run_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="no run here"):
        open_source(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_experiment_is_refused_by_name(run_folder: Path) -> None:
    with pytest.raises(LedgerError, match="no experiment 'other'"):
        report(str(run_folder), experiment="other", out=None, as_json=True, open_page=False)
