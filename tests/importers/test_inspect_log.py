"""Specification of the Inspect importer: archives and documents, sample by sample."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infranoise.importers.kinds import detected

from .conftest import Took, inspect_archive, inspect_head, inspect_sample, write

Take = Callable[..., Took]
DNS = "ConnectionError(MaxRetryError('Failed to resolve: Name or service not known'))"

# What a sample holds -> verdict, cause and reward.
ENDINGS: dict[str, tuple[dict[str, Any], tuple[str, str], float]] = {
    "correct": ({}, ("passed", ""), 1.0),
    "incorrect": ({"score": "I"}, ("failed", "wrong"), 0.0),
    "partly correct": ({"score": "P"}, ("failed", "wrong"), 0.5),
    "no answer to grade": ({"score": "N"}, ("failed", "wrong"), 0.0),
    "a truth value": ({"score": True}, ("passed", ""), 1.0),
    "a number": ({"score": 0.25}, ("failed", "wrong"), 0.25),
    "a number as a text": ({"score": "1.0"}, ("passed", ""), 1.0),
    "out of time": ({"score": "I", "limit": "time"}, ("failed", "agent_timeout"), 0.0),
    "out of time, yet correct": ({"score": "C", "limit": "working"}, ("passed", ""), 1.0),
    "out of messages": ({"score": "I", "limit": "message"}, ("failed", "wrong"), 0.0),
    "a limit of a whole sample": (
        {"score": "I", "limit": {"type": "time", "limit": 60}}, ("failed", "agent_timeout"), 0.0),
    "no network": ({"score": None, "error": DNS}, ("infra_error", "network"), 0.0),
    "an error of a whole sample": (
        {"score": None, "error": {"message": DNS, "traceback": ""}},
        ("infra_error", "network"), 0.0),
    "no model": (
        {"score": None, "error": "RateLimitError('429')"}, ("infra_error", "model_api"), 0.0),
    "no sandbox": (
        {"score": None, "error": "RuntimeError('Error response from daemon: no such image')"},
        ("infra_error", "start_failed"), 0.0),
    "a pod killed": (
        {"score": None, "error": "K8sError('container was OOMKilled')"},
        ("infra_error", "oom_killed"), 0.0),
    "an odd error": ({"score": None, "error": "odd"}, ("infra_error", "unknown"), 0.0),
    "not scored": ({"score": None}, ("infra_error", "verifier_error"), 0.0),
    "given up by its scorer": ({"score": float("nan")}, ("infra_error", "verifier_error"), 0.0),
}  # fmt: skip


@pytest.mark.parametrize("case", ENDINGS)
def test_every_way_to_end_is_read_as_one_of_ours(take: Take, tmp_path: Path, case: str) -> None:
    sample, (verdict, cause), reward = ENDINGS[case]
    log = inspect_archive(tmp_path / "a.eval", [inspect_sample("s", **sample)])
    took = take("inspect", log)
    assert took.outcomes == {"toy/s": (verdict, cause)}
    assert took.attempts[0].reward == reward


FORMS = ("deflated", "zstandard", "document", "journal alone", "samples alone")


def log_of(form: str, folder: Path, samples: list[dict[str, Any]]) -> Path:
    """The same samples as a log of some form."""
    head = inspect_head(len(samples))
    match form:
        case "document":
            return write(folder / "a.json", head | {"samples": samples})
        case "journal alone":
            return inspect_archive(
                folder / "a.eval", [], **{
                    "header.json": None, "summaries.json": None, "_journal/start.json": head,
                    "_journal/summaries/10.json": samples[1:],
                    "_journal/summaries/9.json": samples[:1],
                },
            )  # fmt: skip
        case "samples alone":
            members = {f"samples/{s['id']}_epoch_1.json": s for s in samples}
            return inspect_archive(folder / "a.eval", [], **{"summaries.json": None, **members})
    return inspect_archive(folder / "a.eval", samples, head, zstd=form == "zstandard")


@pytest.mark.parametrize("form", FORMS)
def test_a_log_says_the_same_in_every_form(take: Take, tmp_path: Path, form: str) -> None:
    samples = [inspect_sample("s"), inspect_sample("t", "I"), inspect_sample("u", None, error=DNS)]
    log = log_of(form, tmp_path, samples)
    took = take("inspect", log)
    assert took.outcomes == {
        "toy/s": ("passed", ""), "toy/t": ("failed", "wrong"), "toy/u": ("infra_error", "network"),
    }  # fmt: skip
    assert took.brought.entries == ("react/mockllm/model",)
    assert took.brought.bands == ("docker",)
    assert detected(log).kind == detected(tmp_path).kind == "inspect"


def test_epochs_are_samples_of_one_cell(take: Take, tmp_path: Path) -> None:
    samples = [inspect_sample("s", score, epoch) for epoch, score in enumerate("CCI", start=1)]
    (cell,) = take("inspect", inspect_archive(tmp_path / "a.eval", samples)).cells
    assert (cell.n, cell.passed) == (3, 2)


@pytest.mark.parametrize("kept", [True, False])
def test_errors_before_the_last_attempt_are_attempts(
    take: Take, tmp_path: Path, kept: bool
) -> None:
    retries = [{"message": DNS, "traceback": "", "traceback_ansi": ""}] * 2
    whole = {"id": "s", "events": [{"x": 1}], "error_retries": retries}
    members = {"samples/s_epoch_1.json": whole} if kept else {}
    log = inspect_archive(tmp_path / "a.eval", [inspect_sample("s", retries=2)], **members)
    took = take("inspect", log)
    causes = [line.cause for line in took.attempts]
    assert causes == (["network", "network", ""] if kept else ["unknown", "unknown", ""])
    assert took.lacks["retried samples"] == 2
    assert took.cells[0].passed == 1


def test_what_is_told_of_a_sample_is_kept(take: Take, tmp_path: Path) -> None:
    took = take("inspect", inspect_archive(tmp_path / "a.eval", [inspect_sample("s")]))
    record = took.attempts[0].record
    assert record is not None
    assert record.origin is not None
    assert (record.clocks.agent_s, record.clocks.working_s) == (20, 15)
    assert (record.usage.input_tokens, record.usage.output_tokens) == (3, 4)
    assert (record.conditions.runtime, record.conditions.slots) == ("docker", 4)
    assert record.conditions.agent_timeout_s == 60
    assert record.origin.harness == "Inspect 0.3.285"


def test_totals_agree_and_left_out_errors_are_told(take: Take, tmp_path: Path) -> None:
    samples = [
        inspect_sample("s", "C", 1), inspect_sample("s", "I", 2),
        inspect_sample("t", "C", 1), inspect_sample("t", None, 2, error=DNS),
    ]  # fmt: skip
    head = inspect_head(4)
    head["results"]["completed_samples"] = 3
    head["results"]["scores"][0]["metrics"] = {"accuracy": {"value": 0.75}}
    took = take("inspect", inspect_archive(tmp_path / "a.eval", samples, head))
    assert [total.agrees for total in took.brought.source.totals] == [True, True, True]
    assert took.brought.source.totals[2].note == "samples with an error left out: 1"
    assert took.lacks["samples with an error"] == 1


def test_a_log_that_was_cut_off_tells_what_it_has(take: Take, tmp_path: Path) -> None:
    head = inspect_head(status="started", results=None)
    head["eval"]["dataset"] = {"sample_ids": ["s", "t", "u"]}
    head["eval"]["config"]["epochs"] = 2
    samples = [inspect_sample("s"), inspect_sample("t", None, completed=False)]
    took = take("inspect", inspect_archive(tmp_path / "a.eval", samples, head))
    assert took.outcomes == {"toy/s": ("passed", "")}
    assert took.lacks["logs cut off"] == 1
    assert took.lacks["samples that never ended"] == 4
    assert sum(cell.planned for cell in took.cells) == 2


def test_settings_make_entries_and_secrets_stay_out(take: Take, tmp_path: Path) -> None:
    for effort in ("low", "high"):
        head = inspect_head()
        head["eval"] |= {
            "eval_id": f"of-{effort}",
            "model_generate_config": {"reasoning_effort": effort, "api_key": "hidden"},
        }
        sample = inspect_sample("s", uuid=f"uuid-{effort}")
        inspect_archive(tmp_path / f"{effort}.eval", [sample], head)
    took = take("inspect", tmp_path)
    assert took.brought.entries == (
        "react/mockllm/model (reasoning_effort=high)",
        "react/mockllm/model (reasoning_effort=low)",
    )
    assert "hidden" not in json.dumps(took.brought.source.model_dump())


def test_one_value_of_several_can_be_chosen(take: Take, tmp_path: Path) -> None:
    sample = inspect_sample("s", {"style": 0.5, "tests": 1})
    log = inspect_archive(tmp_path / "a.eval", [sample])
    refused = take("inspect", log)
    assert "sample s, epoch 1, scores.includes: holds several values" in refused.faults[0]
    assert take("inspect", log, reward="includes/tests").outcomes == {"toy/s": ("passed", "")}


def test_the_same_samples_in_a_retried_log_are_met_once(take: Take, tmp_path: Path) -> None:
    samples = [inspect_sample("s"), inspect_sample("t")]
    inspect_archive(tmp_path / "a.eval", samples[:1])
    inspect_archive(tmp_path / "b.eval", samples)
    took = take("inspect", tmp_path)
    assert took.brought.adopted.new == 2
    assert took.brought.adopted.known == 1
