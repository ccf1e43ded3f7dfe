"""Trees of results as their harnesses leave them, written by hand; and a way to bring them in."""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard
from sqlalchemy import Engine

from infranoise.importers.bring import Brought, bring
from infranoise.importers.kinds import importer
from infranoise.importers.modes import Modes
from infranoise.importers.modes_builtin import BUILT_IN
from infranoise.importers.reading import Choices
from infranoise.importers.table_columns import TableColumns
from infranoise.models.classify import classify
from infranoise.models.ledger import reading
from infranoise.models.ledger.adopt import Adoption
from infranoise.models.ledger.reading import AttemptLine, CellCounts
from infranoise.models.ledger.store import open_store
from infranoise.models.source import Kind

START = "2026-11-20T12:00:00Z"


@dataclass(frozen=True)
class Took:
    """What an import did, and what the ledger holds after it."""

    brought: Brought
    attempts: list[AttemptLine]
    cells: tuple[CellCounts, ...]

    @property
    def outcomes(self) -> dict[str, tuple[str | None, str | None]]:
        """Verdict and cause of each task's accepted attempt."""
        return {line.task: (line.verdict, line.cause) for line in self.attempts if line.accepted}

    @property
    def lacks(self) -> dict[str, int | None]:
        """What the source does not record, and how many trials that touches."""
        return {lack.what: lack.trials for lack in self.brought.source.unrecorded}

    @property
    def faults(self) -> list[str]:
        """The faults as they are told."""
        return [str(fault) for fault in self.brought.faults]


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger without an experiment: to be copied, which is quicker than to make one."""
    path = tmp_path_factory.mktemp("empty") / "ledger.sqlite"
    open_store(path).dispose()
    return path


@pytest.fixture
def engine(tmp_path: Path, empty_ledger: Path) -> Iterator[Engine]:
    (tmp_path / "imported").mkdir()
    opened = open_store(shutil.copy(empty_ledger, tmp_path / "imported" / "ledger.sqlite"))
    yield opened
    opened.dispose()


@pytest.fixture
def take(engine: Engine) -> Callable[..., Took]:
    """Import paths of a kind into one experiment."""

    def take_in(kind: Kind, *paths: Path, columns: str = "", **chosen: Any) -> Took:
        modes = chosen.pop("modes", Modes(BUILT_IN[kind]))
        map_ = TableColumns.parse(columns) if columns else None
        choices = Choices(modes, columns=map_, **chosen)
        reader = importer(kind, map_)
        brought = bring(reader, paths, choices, Adoption(engine, "others", reader.factors))
        if "others" not in reading.experiments(engine):
            return Took(brought, [], ())
        attempts = list(reading.attempts(engine, "others"))
        for line in attempts:
            judged_again(line)
        return Took(
            brought,
            attempts,
            reading.cell_counts(engine, "others"),
        )

    return take_in


def judged_again(line: AttemptLine) -> None:
    """What is kept of an attempt can be read, and means what the ledger says."""
    assert line.record is not None
    found = classify(line.record.evidence)
    told = (line.verdict, line.cause, line.oom, line.reward, line.rule, line.detail)
    assert told == (found.verdict, found.cause, found.oom, found.reward, found.rule, found.detail)


def write(path: Path, value: object) -> Path:
    """Write JSON, with its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def clock(start: float, end: float) -> dict[str, str]:
    """A phase from `start` to `end`, in seconds after twelve."""
    return {"started_at": at(start), "finished_at": at(end)}


def at(seconds: float) -> str:
    """A moment, in seconds after twelve."""
    minutes, rest = divmod(seconds, 60)
    return f"2026-11-20T12:{int(minutes):02d}:{rest:09.6f}Z"


def harbor_result(
    name: str = "mend",
    trial: str = "",
    *,
    reward: float | None = 1.0,
    exception: tuple[str, str] | None = None,
    agent_s: float = 30.0,
    start: float = 0.0,
    **more: Any,
) -> dict[str, Any]:
    """A trial's `result.json` as Harbor 0.24 writes it, less what nobody reads."""
    agent_start, agent_end = start + 5, start + 5 + agent_s
    trial = trial or f"{name}__abc1234"
    result: dict[str, Any] = {
        "id": f"id-of-{trial}",
        "task_name": name,
        "trial_name": trial,
        "task_checksum": "c0ffee",
        "config": {
            "timeout_multiplier": 1.0,
            "agent_timeout_multiplier": None,
            "agent": {"name": "terminus-2", "kwargs": {}, "override_timeout_sec": None},
            "environment": {
                "type": "docker",
                "cpu_enforcement_policy": "auto",
                "memory_enforcement_policy": "auto",
                "override_memory_mb": None,
            },
        },
        "agent_info": {
            "name": "terminus-2",
            "version": "2.0",
            "model_info": {"name": "claude", "provider": "anthropic"},
        },
        "agent_result": {"n_input_tokens": 10, "n_output_tokens": 5, "metadata": None},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None,
        "started_at": at(start),
        "finished_at": at(agent_end + 10),
        "environment_setup": clock(start, start + 4),
        "agent_setup": clock(start + 4, start + 5),
        "agent_execution": clock(agent_start, agent_end),
        "verifier": clock(agent_end, agent_end + 2),
    }
    if exception:
        result["exception_info"] = {
            "exception_type": exception[0],
            "exception_message": exception[1],
            "exception_traceback": "…",
        }
    return result | more


def harbor_job(
    folder: Path, *results: dict[str, Any], slots: int = 2, log: str = "", **stats: Any
) -> Path:
    """A job's folder with the trials of these results."""
    for result in results:
        write(folder / result["trial_name"] / "result.json", result)
        write(folder / result["trial_name"] / "config.json", result["config"])
    rewards: dict[str, list[str]] = {}
    for result in results:
        if result["verifier_result"]:
            value = result["verifier_result"]["rewards"].get("reward")
            rewards.setdefault(str(value), []).append(result["trial_name"])
    counted = {
        "n_completed_trials": len(results),
        "n_errored_trials": sum(bool(result["exception_info"]) for result in results),
        "n_retries": 0,
        "evals": {"terminus-2__mend": {"reward_stats": {"reward": rewards}}},
    }
    job = {"id": f"job-{folder.name}", "n_total_trials": len(results), "stats": counted | stats}
    write(folder / "result.json", job)
    write(folder / "config.json", {"job_name": folder.name, "n_concurrent_trials": slots})
    write(folder / "lock.json", {"harbor": {"version": "0.24.0"}, "n_concurrent_trials": slots})
    write(folder / "job.log", log)
    return folder


def inspect_head(samples: int = 0, **more: Any) -> dict[str, Any]:
    """The head of a log as Inspect 0.3 writes it, less what nobody reads."""
    head: dict[str, Any] = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "evalid0123",
            "created": START,
            "task": "toy",
            "task_version": 0,
            "solver": "react",
            "model": "mockllm/model",
            "sandbox": {"type": "docker"},
            "config": {"epochs": 1, "max_samples": 4, "time_limit": 60},
            "packages": {"inspect_ai": "0.3.285"},
            "scorers": [{"name": "includes"}],
        },
        "results": {
            "total_samples": samples,
            "completed_samples": samples,
            "scores": [{"name": "includes", "reducer": "mean", "metrics": {}}],
        },
    }
    return head | more


def inspect_sample(id_: str, score: object = "C", epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample's summary."""
    sample: dict[str, Any] = {
        "id": id_,
        "epoch": epoch,
        "uuid": f"uuid-{id_}-{epoch}",
        "scores": {} if score is None else {"includes": {"value": score}},
        "model_usage": {"mockllm/model": {"input_tokens": 3, "output_tokens": 4}},
        "started_at": at(0),
        "completed_at": at(20),
        "total_time": 20.0,
        "working_time": 15.0,
        "retries": 0,
        "completed": True,
    }
    return sample | more


def inspect_archive(
    path: Path,
    samples: list[dict[str, Any]],
    head: dict[str, Any] | None = None,
    *,
    zstd: bool = False,
    **members: object,
) -> Path:
    """A `.eval` archive; Zstandard members are packed as Inspect packs them."""
    texts = {
        "_journal/start.json": inspect_head(),
        "summaries.json": samples,
        "header.json": head if head is not None else inspect_head(len(samples)),
        **members,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in texts.items():
            if value is not None:
                raw = value if isinstance(value, bytes) else json.dumps(value).encode()
                archive.writestr(name, raw)
    if zstd:
        _repack(path)
    return path


def _repack(path: Path) -> None:
    """Write the archive again with compression method 93, which `zipfile` cannot write."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        sizes = {}
        for name, raw in members.items():
            packed = zstandard.ZstdCompressor().compress(raw)
            archive.writestr(name, packed)
            sizes[name] = raw
        for info in archive.infolist():
            info.compress_type, info.file_size = 93, len(sizes[info.filename])
            info.CRC = zipfile.crc32(sizes[info.filename])


def tb_trial(task: str = "mend", n: int = 1, *, resolved: bool | None = True, **more: Any) -> Any:
    """One trial as Terminal-Bench 0.2 writes it."""
    trial = {
        "id": f"trial-{task}-{n}",
        "trial_name": f"{task}.{n}-of-5.run",
        "task_id": task,
        "instruction": "…",
        "is_resolved": resolved,
        "failure_mode": "unset",
        "parser_results": {},
        "total_input_tokens": 7,
        "total_output_tokens": 8,
        "trial_started_at": at(0),
        "agent_started_at": at(2),
        "agent_ended_at": at(32),
        "test_started_at": at(33),
        "test_ended_at": at(35),
        "trial_ended_at": at(36),
    }
    return trial | more


def tb_run(folder: Path, *trials: dict[str, Any], slots: int = 4, **metadata: Any) -> Path:
    """A run's folder: its results, its metadata, and a file of each trial's own."""
    resolved = sum(trial["is_resolved"] is True for trial in trials)
    results = {
        "results": list(trials),
        "n_resolved": resolved,
        "n_unresolved": len(trials) - resolved,
        "accuracy": resolved / len(trials) if trials else 0.0,
    }
    write(folder / "results.json", results)
    facts: dict[str, Any] = {
        "run_id": folder.name,
        "uuid": f"uuid-{folder.name}",
        "agent_name": "terminus",
        "model_name": "claude",
        "n_concurrent_trials": slots,
        "n_attempts": 1,
        "task_ids": [trial["task_id"] for trial in trials],
        "commit_hash": "f00dfeed",
    }
    write(folder / "run_metadata.json", facts | metadata)
    for trial in trials:
        write(folder / trial["task_id"] / trial["trial_name"] / "results.json", trial)
    return folder


def swe_report(path: Path, **lists: Any) -> Path:
    """A report of schema version 2; counts are of the lists unless they are given."""
    report: dict[str, Any] = {
        "resolved_ids": ["a__a-1"],
        "unresolved_ids": ["b__b-2"],
        "error_ids": [],
        "empty_patch_ids": [],
        "incomplete_ids": [],
        "schema_version": 2,
    } | lists
    for name in ("resolved", "unresolved", "error", "empty_patch"):
        report.setdefault(f"{name}_instances", len(report.get(f"{name}_ids", [])))
    return write(path, report)
