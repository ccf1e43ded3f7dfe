"""Specification of the Terminal-Bench importer: the public leaderboard's trees."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.importers.kinds import detected
from infranoise.models.conditions import UNRECORDED

from .conftest import Took, tb_run, tb_trial, write

Take = Callable[..., Took]

# is_resolved, failure_mode -> verdict and cause
ENDINGS: dict[str, tuple[bool | None, str, tuple[str, str]]] = {
    "resolved": (True, "unset", ("passed", "")),
    "resolved by a later version": (True, "none", ("passed", "")),
    "unresolved": (False, "unset", ("failed", "wrong")),
    "out of time": (False, "agent_timeout", ("failed", "agent_timeout")),
    "out of time, yet resolved": (True, "agent_timeout", ("passed", "")),
    "out of context": (False, "context_length_exceeded", ("failed", "wrong")),
    "its agent broke": (False, "unknown_agent_error", ("failed", "agent_error")),
    "its agent could not be installed": (
        False, "agent_installation_failed", ("infra_error", "start_failed")),
    "no outcome: the tests took too long": (
        None, "test_timeout", ("infra_error", "verifier_error")),
    "no outcome: the tests said nothing": (None, "parse_error", ("infra_error", "verifier_error")),
    "no outcome and no word why": (None, "unset", ("infra_error", "verifier_error")),
    "a word that nobody knows": (False, "gremlins", ("infra_error", "unknown")),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS)
def test_every_way_to_end_is_read_as_one_of_ours(take: Take, tmp_path: Path, case: str) -> None:
    resolved, mode, expected = ENDINGS[case]
    run = tb_run(tmp_path / "run", tb_trial(resolved=resolved, failure_mode=mode))
    assert take("terminal-bench", run).outcomes == {"mend": expected}


def leaderboard(root: Path) -> Path:
    """Two entries: one of two runs at two concurrencies, one whose run is its own folder."""
    entry = root / "bench-core@0.1.1" / "20250901_first_claude"
    tb_run(entry / "r1", tb_trial("a", 1), tb_trial("b", 1, resolved=False), slots=8)
    tb_run(entry / "r2", tb_trial("a", 2, resolved=None, failure_mode="parse_error"), slots=24)
    tb_run(root / "bench-core@0.1.1" / "20250902_second_qwen", tb_trial("a", 3), tb_trial("a", 4))
    return root


def test_a_leaderboard_is_entries_of_runs_of_trials(take: Take, tmp_path: Path) -> None:
    took = take("terminal-bench", leaderboard(tmp_path))
    assert took.brought.entries == ("20250901_first_claude", "20250902_second_qwen")
    assert (took.brought.trials, took.brought.runs) == (5, 3)
    counted = {
        (cell.entry[9:], cell.task, cell.levels["concurrency"]): (
            cell.n, cell.passed, cell.infra_errors)
        for cell in took.cells
    }  # fmt: skip
    assert counted == {
        ("first_claude", "a", "8"): (1, 1, 0),
        ("first_claude", "b", "8"): (1, 0, 0),
        ("first_claude", "a", "24"): (1, 0, 1),
        ("second_qwen", "a", "4"): (2, 2, 0),
    }
    assert len({line.wave for line in took.attempts}) == 3
    assert all(total.agrees for total in took.brought.source.totals)
    assert took.lacks["missing outcomes"] == 1
    assert detected(tmp_path).kind == "terminal-bench"


def test_a_trial_is_met_once_however_often_it_was_copied(take: Take, tmp_path: Path) -> None:
    tree = leaderboard(tmp_path / "results")
    entry = tree / "bench-core@0.1.1" / "20250901_first_claude"
    shutil.copytree(entry / "r1", entry / "r2" / "r1")
    took = take("terminal-bench", tree)
    assert sum(cell.n for cell in took.cells) == 5
    assert took.brought.adopted.known == 2
    assert took.lacks["OOM kills"] == 1
    assert not took.faults


def test_a_trials_own_file_that_differs_is_named_and_its_runs_counts(
    take: Take, tmp_path: Path
) -> None:
    run = tb_run(tmp_path / "run", tb_trial(resolved=False))
    write(run / "mend" / "mend.1-of-5.run" / "results.json", tb_trial(resolved=True))
    took = take("terminal-bench", run)
    assert took.outcomes == {"mend": ("failed", "wrong")}
    assert len(took.faults) == 1
    assert "differs from" in took.faults[0]
    assert "in is_resolved" in took.faults[0]


def test_trials_whose_run_has_no_results_of_its_own_go_in(take: Take, tmp_path: Path) -> None:
    run = tb_run(tmp_path / "run", tb_trial("a"), tb_trial("b"))
    (run / "results.json").unlink()
    took = take("terminal-bench", run)
    assert took.outcomes == {"a": ("passed", ""), "b": ("passed", "")}
    assert (
        len(
            {line.record.origin.run for line in took.attempts if line.record and line.record.origin}
        )
        == 1
    )


def test_without_metadata_nothing_is_made_up(take: Take, tmp_path: Path) -> None:
    run = tb_run(tmp_path / "entry" / "run", tb_trial(trial_started_at=None, agent_ended_at=None))
    (run / "run_metadata.json").unlink()
    took = take("terminal-bench", run)
    (line,) = took.attempts
    assert line.record is not None
    conditions, clocks = line.record.conditions, line.record.clocks
    assert (conditions.slots, conditions.hour_utc, conditions.node) == (None, None, UNRECORDED)
    assert (clocks.received_at, clocks.agent_s, clocks.verifier_s) == (None, None, 2)
    assert took.cells[0].levels == {"concurrency": UNRECORDED}
    assert took.brought.entries == ("entry",)
    assert took.lacks["dates and clocks"] == took.lacks["concurrency"] == 1


def test_planned_trials_that_are_missing_show_in_the_totals(take: Take, tmp_path: Path) -> None:
    run = tb_run(tmp_path / "run", tb_trial("a"), n_attempts=3)
    took = take("terminal-bench", run)
    planned = took.brought.source.totals[0]
    assert (planned.theirs, planned.ours, planned.agrees) == (3, 1, False)


def test_a_lock_tells_the_version_and_the_limits_that_were_set_for_all(
    take: Take, tmp_path: Path
) -> None:
    dataset = {"dataset_name": "bench-core", "dataset_version": "0.1.1"}
    slow = tb_run(tmp_path / "runs" / "slow", tb_trial("a", 1), **dataset)
    limits = {"global_timeout_multiplier": 4.0, "global_agent_timeout_sec": None}
    write(slow / "tb.lock", {"harness": {"version": "0.2.17"}, "run_config": limits})
    tb_run(tmp_path / "runs" / "untold", tb_trial("a", 2), resumed_at="2025-09-01T00:00:00+00:00")
    took = take("terminal-bench", tmp_path / "runs")
    told = {
        line.record.origin.run.split()[0]: (
            line.record.origin.harness, line.record.conditions.time_limit
        )
        for line in took.attempts
        if line.record and line.record.origin
    }  # fmt: skip
    assert told == {
        "slow": ("Terminal-Bench 0.2.17, bench-core 0.1.1", 4.0),
        "untold": ("Terminal-Bench at f00dfeed", None),
    }
    assert took.lacks["time limits"] == 1
    assert took.lacks["what was there before a run was resumed"] == 1


def test_a_broken_lock_is_a_fault_and_its_trials_go_in(take: Take, tmp_path: Path) -> None:
    run = tb_run(tmp_path / "run", tb_trial("a"))
    write(run / "tb.lock", {"run_config": [1]})
    took = take("terminal-bench", run)
    assert took.outcomes == {"a": ("passed", "")}
    assert took.faults == [f"{run}/tb.lock: run_config: an object belongs here, not a array"]


def test_what_lies_beside_told_trials_is_found(take: Take, tmp_path: Path) -> None:
    run = tb_run(tmp_path / "run", tb_trial("a", 1), tb_trial("a", 2), tb_trial("b"))
    write(run / "a" / "forgotten" / "results.json", tb_trial("a", 3, resolved=False))
    took = take("terminal-bench", run)
    told = [line.record and line.record.origin for line in took.attempts]
    assert sorted(origin.id for origin in told if origin) == [
        "trial-a-1", "trial-a-2", "trial-a-3", "trial-b-1"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["../../../elsewhere/t", "linked", ".", "", "gone", "a\x00b"])
def test_no_name_of_a_trial_leads_out_of_its_task(take: Take, tmp_path: Path, name: str) -> None:
    """A folder of the run's own task has one folder in it, which the run's file calls otherwise."""
    write(tmp_path / "elsewhere" / "t" / "results.json", tb_trial("a", resolved=False))
    told = tb_trial("a") | {"trial_name": name}
    run = tb_run(tmp_path / "runs" / "run", tb_trial("b"))
    write(run / "results.json", {"results": [told]})
    write(run / "a" / "real" / "results.json", tb_trial("a", 2))
    (run / "a" / "linked").symlink_to(tmp_path / "elsewhere" / "t")
    took = take("terminal-bench", tmp_path / "runs")
    assert took.brought.adopted.new == 3
    assert not took.faults
