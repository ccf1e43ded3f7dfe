"""Specification of the commands on others' results: what they print, their exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from infranoise.cli import importing
from infranoise.cli.main import app
from infranoise.cli.sides import address_of
from infranoise.importers import intake
from infranoise.models.card import Card
from infranoise.models.errors import DesignError, LedgerError

from .conftest import (
    harbor_job,
    harbor_result,
    inspect_archive,
    inspect_sample,
    tb_run,
    tb_trial,
    write,
)

Run = Callable[..., Result]
TIMED_OUT = ("AgentTimeoutError", "Agent execution timed out after 30.0 seconds")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in an empty folder; an error that is meant for people ends the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def invoke(*words: object) -> Result:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def flat(result: Result) -> str:
    """What was printed, without regard to where lines end."""
    return " ".join(result.output.replace("│", " ").split())


def told(result: Result) -> Any:
    return json.loads(result.stdout)


def jobs(root: Path, name: str, shares: dict[str, int], samples: int = 4, **config: Any) -> Path:
    """A job in which every task passes that often of some samples."""
    results = [
        harbor_result(
            task, f"{task}__{name}{k}", reward=float(k < passes), start=k * 60.0, agent_s=30.0
        )
        for task, passes in shares.items()
        for k in range(samples)
    ]
    for result in results:
        result["config"]["environment"] |= config
    return harbor_job(root / name, *results)


def test_an_import_says_what_is_missing_before_what_it_did(run: Run, tmp_path: Path) -> None:
    harbor_job(
        tmp_path / "job",
        harbor_result("a", reward=0.0),
        harbor_result("b", reward=0.0, exception=TIMED_OUT, agent_s=0.1),
    )
    result = run("import", "harbor", "job")
    assert result.exit_code == 0
    lines = result.stdout
    assert lines.index("Not recorded there") < lines.index("How its endings are read")
    assert "OOM kills, 1 trial:" in lines
    assert "agent timeouts that were none, 1 trial:" in lines
    assert "Its own totals: 4 of 4 are met" in lines
    assert (tmp_path / "infranoise-runs" / "job" / "ledger.sqlite").is_file()


def test_a_dry_run_writes_nothing(run: Run, tmp_path: Path) -> None:
    harbor_job(tmp_path / "job", harbor_result())
    result = run("import", "harbor", "job", "--dry-run", "--json")
    assert told(result)["store"] is None
    assert told(result)["trials"] == 1
    assert not (tmp_path / "infranoise-runs").exists()


def test_a_broken_file_is_exit_code_6_and_the_rest_goes_in(run: Run, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "job", harbor_result("a"), harbor_result("b"))
    (job / "b__abc1234" / "result.json").write_text("{")
    result = run("import", "harbor", "job", "--json")
    assert result.exit_code == 6
    assert told(result)["new"] == 1
    assert "b__abc1234/result.json: line 1" in told(result)["faults"][0]


def test_what_did_not_go_in_is_said_wherever_it_is_missing(run: Run, tmp_path: Path) -> None:
    a = harbor_job(tmp_path / "jobs" / "a", harbor_result("t"), harbor_result("u"))
    (a / "u__abc1234" / "result.json").write_text("{")
    twice = harbor_result("t", "t__again", reward=0.0) | {"id": "id-of-t__abc1234"}
    harbor_job(tmp_path / "jobs" / "b", twice, harbor_result("v", "v__b"))
    harbor_job(tmp_path / "other", harbor_result("t", "t__c", reward=0.0))
    shown = flat(run("compare", "jobs", "other"))
    assert "2 faults on the way" in shown
    assert "not taken: jobs/a/u__abc1234/result.json: line 1" in shown
    assert "id-of-t__abc1234: came again with other contents; the first counts" in shown


def test_another_kind_is_guessed(run: Run, tmp_path: Path) -> None:
    harbor_job(tmp_path / "job", harbor_result())
    with pytest.raises(DesignError, match="no results of the kind 'inspect'; it looks like harbor"):
        run("import", "inspect", "job")
    assert not list((tmp_path / "infranoise-runs").glob("*"))  # nothing went in, nothing stays


def test_the_users_words_for_band_entry_and_endings(run: Run, tmp_path: Path) -> None:
    harbor_job(tmp_path / "job", harbor_result(reward=None, exception=("OddError", "x")))
    (tmp_path / "own.toml").write_text('[[harbor]]\nmode = "OddError"\nmeans = "evicted"\n')
    result = run(
        "import", "auto", "job", "--band", "3x", "--entry", "mine", "--modes", "own.toml", "--json"
    )
    document = told(result)
    assert (document["bands"], document["entries"]) == (["3x"], ["mine"])
    assert document["source"]["modes"] == [
        {"mode": "OddError", "judged": "evicted", "attempts": 1, "passed": 0, "unjudged": 1}
    ]
    assert document["source"]["overrides"]


def test_a_report_on_imported_results_begins_with_what_they_lack(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "job", {"a": 2, "b": 3})
    run("import", "harbor", "job")
    reported = run("report", "infranoise-runs/job").stdout
    assert reported.startswith("Imported from harbor (Harbor 0.24.0): 8 trials.")
    assert "out-of-memory" not in reported  # nobody counted kills
    page = (tmp_path / "infranoise-runs" / "job" / "report.html").read_text()
    assert page.index("Not recorded by Harbor 0.24.0: OOM kills (3 trials);") < page.index(
        'class="opening"'
    )
    assert "Kills for memory were not counted there" in page
    assert "out-of-memory kill" not in page
    document = told(run("analyze", "infranoise-runs/job", "--json"))
    assert document["run"]["sources"][0]["unrecorded"][0]["what"] == "OOM kills"


def test_two_folders_of_others_results_compare_in_one_command(run: Run, tmp_path: Path) -> None:
    tasks = {f"t{k}": 1 + k % 3 for k in range(12)}
    jobs(tmp_path, "before", tasks)
    jobs(tmp_path, "after", {task: 4 - passes for task, passes in tasks.items()})
    result = run("compare", "before", "after")
    assert result.exit_code == 0
    assert "after scores the same" not in result.stdout
    assert "What differs between the two" in result.stdout
    document = told(run("compare", "before", "after", "--json"))
    assert document["tasks"] == 12
    states = {row["item"]: row["state"] for row in document["settings"]}
    assert states["floors and ceilings"] == "unrecorded"
    assert states["enforcement"] == states["harness"] == "same"
    assert document["unrecorded"][0]["unrecorded"]
    assert not (tmp_path / "infranoise-runs").exists()


GATES = [("better", 0), ("same", 5), ("worse", 4)]


@pytest.mark.parametrize(("which", "code"), GATES)
def test_the_gate_is_an_exit_code(run: Run, tmp_path: Path, which: str, code: int) -> None:
    base = {f"t{k}": 2 + k % 2 for k in range(40)}
    shift = {"better": 2, "same": 0, "worse": -2}[which]
    jobs(tmp_path, "a", base, samples=6)
    jobs(tmp_path, "b", {task: passes + shift for task, passes in base.items()}, samples=6)
    result = run("compare", "a", "b", "--gate", "--max-drop", 3, "--json")
    assert result.exit_code == code
    assert told(result)["gate"]["decision"] == {0: "GO", 4: "NO-GO", 5: "INCONCLUSIVE"}[code]


def test_entries_of_a_leaderboard_compare_and_tie(run: Run, tmp_path: Path) -> None:
    board = tmp_path / "bench@1"
    for entry, odd in (("first", 2), ("second", 3)):
        trials = [
            tb_trial(f"t{k}", f"{entry}{n}", resolved=(k + n) % odd == 0)  # type: ignore[arg-type]
            for k in range(12)
            for n in range(3)
        ]
        tb_run(board / entry / "run", *trials)
    run("import", "terminal-bench", tmp_path, "--store", "store", "--name", "board")
    rows = told(run("leaderboard", "store", "--json"))["rows"]
    assert [row["entry"] for row in rows] == ["first", "second"]
    pair = told(run("compare", "first", "second", "--store", "store", "--json"))
    assert pair["difference"]["est"] < 0
    again = told(run("compare", "store@first", "store#board@second", "--json"))
    assert again["difference"] == pair["difference"]


def test_ceilings_in_imported_results_can_be_calibrated(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "tight", {f"t{k}": 2 for k in range(6)})
    jobs(tmp_path, "wide", {f"t{k}": 3 for k in range(6)})
    for job, band in (("tight", "1x"), ("wide", "3x")):
        run("import", "harbor", job, "--band", band, "--name", "both", "--store", "store")
    result = run("calibrate", "store", "--json")
    assert result.exit_code == 5
    document = told(result)
    assert [row["band"] for row in document["per_ceiling"]] == ["3x"]
    assert document["refused"]


def test_the_card_of_imported_results_admits_what_it_does_not_know(
    run: Run, tmp_path: Path
) -> None:
    inspect_archive(tmp_path / "a.eval", [inspect_sample("s"), inspect_sample("t", "I")])
    result = run("card", "a.eval", "--out", "cards")
    assert "**Imported** from inspect (Inspect 0.3.285)" in result.stdout
    card = Card.model_validate_json((tmp_path / "cards" / "infra-card.json").read_text())
    assert (card.bands[0].memory, card.seed, card.nodes) == (None, None, ())
    checked = run("card", "--check", "cards/infra-card.json", "--json")
    assert checked.exit_code == 7
    assert "floors and ceilings" in {lack["what"] for lack in told(checked)["unstated"]}
    assert run("card", "--diff", "a.eval", "cards/infra-card.json").exit_code == 5


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_what_is_exported_can_be_imported_again(run: Run, tmp_path: Path, suffix: str) -> None:
    results = [
        harbor_result("a"),
        harbor_result("=b", reward=0.0),
        harbor_result("c", reward=None, exception=("SandboxBuildFailedError", "x")),
    ]
    harbor_job(tmp_path / "job", *results)
    assert "3 rows" in run("export", "job", f"out/all{suffix}").stdout
    columns = "task=task,passed=reward,entry=entry,band=band,mode=cause"
    told_again = told(run("import", "table", f"out/all{suffix}", "--column", columns, "--json"))
    assert told_again["new"] == 3
    rows = told(run("analyze", "infranoise-runs/all", "--json"))["bands"]
    assert [(row["n"], row["passed"], row["infra_errors"]) for row in rows] == [(3, 1, 1)]
    if suffix == ".csv":
        assert "'=b" in (tmp_path / "out" / "all.csv").read_text()


def test_hibayes_gets_a_folder_of_its_own(run: Run, tmp_path: Path) -> None:
    harbor_job(tmp_path / "job", harbor_result("a"))
    document = told(run("export", "job", "hb", "--format", "hibayes", "--json"))
    assert (document["rows"], (tmp_path / "hb" / "data.parquet").is_file()) == (1, True)
    with pytest.raises(DesignError, match="say one of parquet, csv, jsonl, hibayes"):
        run("export", "job", "out.xlsx")


def test_a_gate_on_other_configurations_says_so(run: Run, tmp_path: Path) -> None:
    tasks = {f"t{k}": 1 + k % 3 for k in range(12)}
    jobs(tmp_path, "a", tasks)
    other = jobs(tmp_path, "b", tasks)
    lock = json.loads((other / "lock.json").read_text())
    (other / "lock.json").write_text(json.dumps(lock | {"n_concurrent_trials": 32}))
    result = run("compare", "a", "b", "--gate", "--max-drop", 30)
    assert result.exit_code == 0
    assert "The configurations differ in trials at once: part of it may be" in flat(result)
    taken = flat(run("compare", "a", "b", "--matched"))
    assert "are taken to match, though they differ in trials at once" in taken


def test_one_set_of_results_on_both_sides_is_noticed(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "a", {f"t{k}": k % 5 for k in range(5)})
    assert "are these the same results, read twice?" in flat(run("compare", "a", "a"))
    with pytest.raises(DesignError, match="a: is named twice; its trials would count twice"):
        run("leaderboard", "a", "a")


def test_sides_of_one_name_are_told_apart(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path / "main", "jobs", {"t": 1, "u": 3})
    jobs(tmp_path / "change", "jobs", {"t": 2, "u": 3})
    document = told(run("compare", "main/jobs", "change/jobs", "--json"))
    assert (document["a"]["name"], document["b"]["name"]) == ("main/jobs", "change/jobs")
    rows = told(run("leaderboard", "main/jobs", "change/jobs", "--json"))["rows"]
    assert {row["n"] for row in rows} == {8}


@pytest.mark.parametrize("words", [["--max-drop", 2], ["--target", "new"], ["--common-tasks"]])
def test_an_option_of_the_gate_needs_the_gate(
    run: Run, tmp_path: Path, words: list[object]
) -> None:
    jobs(tmp_path, "a", {"t": 1})
    result = run("compare", "a", "a", *words)
    assert result.exit_code == 2
    assert "decides nothing without --gate" in flat(result)


def test_an_import_that_is_interrupted_says_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "TOGETHER", 2)
    for k in range(3):
        jobs(tmp_path / "jobs", f"j{k}", {"t": 1})
    real, commits = importing.write_source, 0

    def interrupt(*words: Any) -> None:
        nonlocal commits
        real(*words)
        commits += 1
        if commits == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(importing, "write_source", interrupt)
    assert run("import", "harbor", "jobs").exit_code == 130
    analyzed = run("analyze", "infranoise-runs/jobs")
    assert "its import was cut off; the same import again goes on" in flat(analyzed)
    again = told(run("import", "harbor", "jobs", "--json"))
    assert (again["new"], again["known"]) == (8, 4)
    assert "cut off" not in flat(run("analyze", "infranoise-runs/jobs"))


@pytest.mark.parametrize("words", [["export", "a", "/proc/x.csv"], ["card", "a", "--out", "/proc"]])
def test_a_place_that_cannot_be_written_is_named(
    run: Run, tmp_path: Path, words: list[str]
) -> None:
    jobs(tmp_path, "a", {"t": 1})
    with pytest.raises(DesignError, match=r"/proc[^:]*: cannot be written: .*; name another place"):
        run(*words)


def test_a_job_that_was_cut_off_does_not_pass_the_gate(run: Run, tmp_path: Path) -> None:
    tasks = {f"t{k}": 2 for k in range(6)}
    jobs(tmp_path, "a", tasks)
    cut_off = jobs(tmp_path, "b", dict.fromkeys(tasks, 4))
    write(cut_off / "t0__next" / "config.json", {})
    result = run("compare", "a", "b", "--gate", "--max-drop", 5)
    assert result.exit_code == 5
    assert "1 trial without an outcome: what is missing may be what fails" in flat(result)
    assert run("compare", "a", "b", "--gate", "--common-tasks").exit_code == 0


ADDRESSES = {
    "bench@1/x": ("bench@1/x", "", ""),
    "bench@1/x@gpt": ("bench@1/x", "", "gpt"),
    "bench@1/x#one@gpt@5": ("bench@1/x", "one", "gpt@5"),
    "postgresql://u@host/db#one": ("postgresql://u@host/db", "one", ""),
}


@pytest.mark.parametrize("text", ADDRESSES)
def test_an_address_may_hold_any_character(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench@1" / "x").mkdir(parents=True)
    address = address_of(text)
    assert (address.source, address.experiment, address.entry) == ADDRESSES[text]


def test_what_cannot_be_compared_says_why(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "a", {"t": 2})
    with pytest.raises(DesignError, match="no such file or folder"):
        run("compare", "a", "b")
    run("import", "harbor", "a", "--store", "store", "--name", "one")
    run("import", "harbor", "a", "--store", "store", "--name", "two")
    with pytest.raises(LedgerError, match="name one: store#one, store#two"):
        run("compare", "store", "a")
    with pytest.raises(DesignError, match="entry has no level 'nobody'"):
        run("compare", "store#one@nobody", "a")


def test_nothing_that_went_in_leaves_no_ledger(run: Run, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("task,passed\na,1\n")
    result = run("import", "table", "t.csv", "--column", "task=tsk,passed=passed")
    assert result.exit_code == 6
    assert "no such column; there are: task, passed" in flat(result)
    assert "No ledger was written" in flat(result)
    assert not (tmp_path / "infranoise-runs" / "t").exists()


def test_what_is_known_keeps_its_band_and_that_is_said(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "a", {"t": 1})
    run("import", "harbor", "a", "--band", "1x")
    again = run("import", "harbor", "a", "--band", "3x")
    assert "What was known keeps the entry, the band" in flat(again)
    assert again.exit_code == 0
    assert told(run("card", "infranoise-runs/a", "--json"))["bands"][0]["name"] == "1x"


def test_trees_of_a_kind_tell_once_what_they_lack(run: Run, tmp_path: Path) -> None:
    for name, band in (("a", "1x"), ("b", "3x")):
        jobs(tmp_path, name, {"t": 1, "u": 0})
        run("import", "harbor", name, "--name", "both", "--band", band)
    text = flat(run("calibrate", "infranoise-runs/both"))
    assert text.count("OOM kills, ") == 1
    check = told(run("card", "--check", "infranoise-runs/both", "--json"))
    named = [lack["what"] for lack in check["unstated"]]
    assert len(named) == len(set(named))
    assert {"OOM scope", "swap"} <= set(named)


def test_a_path_that_gave_nothing_is_named(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "a", {"t": 1})
    tb_run(tmp_path / "board" / "run", tb_trial())
    result = run("import", "harbor", "a", "board", "--name", "x")
    assert result.exit_code == 6
    assert "board: holds no results of the kind 'harbor'; it looks like terminal-bench" in flat(
        result
    )
    with pytest.raises(DesignError, match="a looks like harbor, board looks like terminal-bench"):
        run("import", "auto", "a", "board")


def test_an_entry_that_is_not_there_is_not_exported(run: Run, tmp_path: Path) -> None:
    jobs(tmp_path, "a", {"t": 1})
    with pytest.raises(DesignError, match="there is no entry 'nobody'; there are: terminus-2"):
        run("export", "a@nobody", "out.csv")
    assert not (tmp_path / "out.csv").exists()
