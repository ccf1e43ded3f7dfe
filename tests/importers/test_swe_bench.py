"""Specification of the SWE-bench importer: a report's lists of ids."""

from collections.abc import Callable
from pathlib import Path

from infranoise.importers.kinds import detected

from .conftest import Took, swe_report, write

Take = Callable[..., Took]


def test_every_list_is_read_as_one_of_our_outcomes(take: Take, tmp_path: Path) -> None:
    report = swe_report(
        tmp_path / "org__model-1.5.run-a.json",
        resolved_ids=["r"],
        unresolved_ids=["u"],
        error_ids=["e"],
        empty_patch_ids=["p"],
        incomplete_ids=["i"],
        total_instances=5,
        submitted_instances=4,
    )
    took = take("swe-bench", report)
    assert took.outcomes == {
        "r": ("passed", ""),
        "u": ("failed", "wrong"),
        "e": ("infra_error", "verifier_error"),
        "p": ("failed", "no_answer"),
    }
    assert {cell.task: (cell.planned, cell.n) for cell in took.cells}["i"] == (1, 0)
    assert took.brought.entries == ("org/model-1.5",)
    assert all(total.agrees for total in took.brought.source.totals)
    assert (took.lacks["what an error was"], took.lacks["why a patch is empty"]) == (1, 1)


def test_runs_of_a_model_are_samples_of_one_entry(take: Take, tmp_path: Path) -> None:
    for run in ("one", "two"):
        swe_report(tmp_path / run / f"model.{run}.json")
    took = take("swe-bench", tmp_path)
    assert took.brought.entries == ("model",)
    assert {cell.task: cell.n for cell in took.cells} == {"a__a-1": 2, "b__b-2": 2}
    assert detected(tmp_path).kind == "swe-bench"


def test_other_files_beside_reports_are_passed_over(take: Take, tmp_path: Path) -> None:
    swe_report(tmp_path / "model.run.json")
    write(tmp_path / "predictions.json", {"a__a-1": {"model_patch": ""}})
    took = take("swe-bench", tmp_path)
    assert took.brought.trials == 2
    assert not took.faults


def test_an_instance_in_two_lists_is_a_fault(take: Take, tmp_path: Path) -> None:
    swe_report(tmp_path / "model.bad.json", error_ids=["a__a-1"])
    swe_report(tmp_path / "model.good.json")
    took = take("swe-bench", tmp_path)
    assert took.brought.trials == 2
    assert "error_ids[0]: a__a-1 is listed as resolved and as error" in took.faults[0]


def test_a_total_that_does_not_fit_its_lists_is_listed(take: Take, tmp_path: Path) -> None:
    took = take("swe-bench", swe_report(tmp_path / "model.run.json", resolved_instances=7))
    wrong = [total for total in took.brought.source.totals if not total.agrees]
    assert [(total.what, total.theirs, total.ours) for total in wrong] == [
        ("model, run: resolved instances", 7, 1)
    ]
