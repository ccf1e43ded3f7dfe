"""Specification against any value anywhere: a field that holds nonsense is a fault, never a crash.

Every field of a result is replaced by every kind of nonsense, one at a time; what is read must
also be such that it can be written down.
"""

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .conftest import (
    Took,
    clock,
    harbor_job,
    harbor_result,
    inspect_archive,
    inspect_head,
    inspect_sample,
    swe_report,
    tb_run,
    tb_trial,
    write,
)

Take = Callable[..., Took]
NONSENSE: tuple[object, ...] = (
    *(None, True, -1, 1e308, float("nan"), float("inf"), 10**400),
    *("", "x" * 1000, "\ud800", "a\x00b", "../..", "9999-12-31T23:59:59Z"),
    *([], {}, {"a": {}}, ["\ud800"], [{"a": 1}], {"\ud800": "\ud800"}, {"k": float("inf")}),
)


def places(value: object, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every field and item of a document."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)  # type: ignore[arg-type]
    for key, one in inside:
        yield (*above, key)
        if isinstance(one, dict | list):
            yield from places(one, (*above, key))


def spoilt(document: dict[str, Any], nonsense: tuple[object, ...]) -> Iterator[dict[str, Any]]:
    """The document with one field replaced, in every way."""
    for place in places(document):
        for value in nonsense:
            made = copy.deepcopy(document)
            inner: Any = made
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = value
            yield made


def test_any_field_of_a_harbor_trial(take: Take, tmp_path: Path) -> None:
    trial = harbor_result(
        "a", exception=("AgentTimeoutError", "Agent execution timed out after 30.0 seconds")
    )
    trial["config"]["agent"]["kwargs"] = {"temperature": 1}
    trial["agent_result"]["metadata"] = {"api_request_times_msec": [1, 2]}
    trial["step_results"] = [{"agent_execution": clock(0, 1), "exception_info": None}]
    job = harbor_job(tmp_path / "job", harbor_result("good"))
    for number, raw in enumerate(spoilt(trial, NONSENSE)):
        write(job / f"t{number}" / "result.json", raw)
    took = take("harbor", job)
    assert "good" in took.outcomes
    assert took.faults
    assert all("/t" in fault for fault in took.faults)


def test_any_field_of_a_harbor_job(take: Take, tmp_path: Path) -> None:
    job = harbor_job(tmp_path / "jobs" / "job", harbor_result("good"))
    for name in ("result.json", "lock.json", "config.json"):
        document = json.loads((job / name).read_text())
        for number, raw in enumerate(spoilt(document, NONSENSE)):
            other = tmp_path / "jobs" / f"{name}-{number}"
            shutil.copytree(job, other)
            write(other / name, raw)
    took = take("harbor", tmp_path / "jobs")
    assert set(took.outcomes) == {"good"}
    assert all(".json" in fault for fault in took.faults)


def test_any_field_of_a_terminal_bench_run(take: Take, tmp_path: Path) -> None:
    trials = list(spoilt(tb_trial("a"), NONSENSE))
    run = tb_run(tmp_path / "runs" / "run", tb_trial("good"))
    write(run / "results.json", {"results": [tb_trial("good"), *trials]})
    metadata = json.loads((run / "run_metadata.json").read_text())
    for number, raw in enumerate(spoilt(metadata, NONSENSE)):
        other = tb_run(tmp_path / "runs" / f"other-{number}", tb_trial(f"good-{number}"))
        write(other / "run_metadata.json", raw)
    took = take("terminal-bench", tmp_path / "runs")
    assert {"good", "good-0"} <= set(took.outcomes)
    assert all(".json" in fault for fault in took.faults)


def test_any_field_of_an_inspect_log(take: Take, tmp_path: Path) -> None:
    sample = inspect_sample("a", error={"message": "RuntimeError(x)"}, retries=1)
    sample["error_retries"] = [{"message": "x"}]
    head = inspect_head(1)
    head["eval"]["model_args"] = {"temperature": 1}
    head["plan"] = {"steps": [{"solver": "react"}]}
    head["results"]["headline"] = {"score": "includes"}
    few = NONSENSE[::3]
    for number, raw in enumerate(spoilt(sample, few)):
        inspect_archive(tmp_path / f"sample-{number}.eval", [raw])
    for number, raw in enumerate(spoilt(head, few)):
        write(tmp_path / f"head-{number}.json", raw | {"samples": [sample]})
    took = take("inspect", tmp_path)
    assert took.attempts
    assert took.faults
    assert all(".eval" in fault or ".json" in fault for fault in took.faults)


def test_any_value_in_a_row(take: Take, tmp_path: Path) -> None:
    row = {"t": "a", "y": 1, "e": "m", "b": "1x", "x": 0, "w": "wrong", "s": 0.0, "c": 2}
    write(tmp_path / "good.jsonl", json.dumps(row | {"t": "good"}))
    for number, raw in enumerate(spoilt(row, NONSENSE)):
        write(tmp_path / f"row-{number}.jsonl", json.dumps(raw))
    columns = "task=t,passed=y,entry=e,band=b,infra_error=x,mode=w,started=s,concurrency=c"
    took = take("table", tmp_path, columns=columns)
    assert "good" in took.outcomes
    assert took.faults
    assert all("row-" in fault for fault in took.faults)


def test_any_field_of_a_swe_bench_report(take: Take, tmp_path: Path) -> None:
    report = json.loads(swe_report(tmp_path / "m.good.json").read_text())
    for number, raw in enumerate(spoilt(report, NONSENSE)):
        write(tmp_path / f"m.r{number}.json", raw)
    took = take("swe-bench", tmp_path)
    assert {"a__a-1", "b__b-2"} <= set(took.outcomes)
    assert all("m.r" in fault for fault in took.faults)
