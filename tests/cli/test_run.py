"""One experiment end to end, on each runtime: real tasks, real pods, real kills, a report."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import docker
import docker.errors
import pytest

from infranoise.bundled.materialise import materialise
from infranoise.models.cache_folder import cache_folder
from infranoise.models.ledger import reading
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.store import open_store

TASKS = ("crate-unpack", "prime-gap")  # killed at 1x; up to 1.5x
EXPERIMENT = """
name = "small"
tasks = {tasks}
samples = 1
bands = ["1x", "3x", "uncapped"]
[[entries]]
agent = "policy"
model = "adaptive"
[[entries]]
agent = "policy"
model = "heavy"
[pods]
network = "none"
[run]
max_attempts = 2
"""


@dataclass(frozen=True)
class Done:
    """A run that has ended well."""

    document: dict[str, Any]
    out: Path
    attempts: tuple[AttemptLine, ...]

    def of(self, entry: str, band: str) -> list[AttemptLine]:
        return [line for line in self.first if (line.entry, line.band) == (entry, band)]

    @property
    def first(self) -> list[AttemptLine]:
        """Attempts that are no replays."""
        return [line for line in self.attempts if not line.replay_of]


def run(folder: Path, runtime: str, *more: str) -> Done:
    paths = {path.name: path for path in materialise("headroom", cache_folder(os.environ))}
    tasks = json.dumps([str(paths[name]) for name in TASKS])
    (folder / "small.toml").write_text(EXPERIMENT.format(tasks=tasks))
    options = ("--runtime", runtime, "--out", "out", "--json", *more)
    ended = subprocess.run(
        [sys.executable, "-m", "infranoise", "run", "small.toml", *options],
        cwd=folder,
        env=os.environ | {"INFRANOISE_STATE": str(folder / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    attempts = tuple(reading.attempts(open_store(folder / "out/ledger.sqlite"), "small"))
    return Done(json.loads(ended.stdout), folder / "out", attempts)


@pytest.fixture(scope="module")
def on_processes(tmp_path_factory: pytest.TempPathFactory) -> Done:
    return run(tmp_path_factory.mktemp("process"), "process", "--replay-kills", "3x")


@pytest.fixture(scope="module")
def in_containers(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Done:
    try:
        client = docker.APIClient(version="auto")
        client.inspect_image("python:3.12-slim")
        client.close()
    except docker.errors.DockerException as error:
        missing(f"a Docker engine with python:3.12-slim (deploy/base-image.sh): {error}")
    return run(tmp_path_factory.mktemp("docker"), "docker")


@pytest.fixture(params=["on_processes", "in_containers"])
def done(request: pytest.FixtureRequest) -> Done:
    found: Done = request.getfixturevalue(request.param)
    return found


def test_the_tightest_band_holds_real_kills_with_their_counter(done: Done) -> None:
    killed = [line for line in done.of("heavy", "1x") if line.cause == "oom_killed"]
    assert {line.task.split("/")[1] for line in killed} == set(TASKS)
    for line in killed:
        assert line.record is not None
        agent = line.record.evidence.phase("agent")
        assert agent is not None
        assert agent.oom_kills
        assert line.oom == "main"


def test_what_was_killed_low_passes_high(done: Done) -> None:
    assert {line.verdict for line in done.of("heavy", "3x")} == {"passed"}


def test_uncapped_pods_are_never_killed(done: Done) -> None:
    for line in [*done.of("heavy", "uncapped"), *done.of("adaptive", "uncapped")]:
        assert line.record is not None
        assert all(phase.oom_kills == 0 for phase in line.record.evidence.phases)


def test_a_kill_that_a_parent_recovers_from_is_a_flagged_pass(done: Done) -> None:
    lines = done.of("adaptive", "1x")
    assert {line.verdict for line in lines} == {"passed"}
    assert {line.oom for line in lines} == {"recovered"}


def test_a_retry_keeps_both_attempts(done: Done) -> None:
    per_trial = Counter(line.trial for line in done.of("heavy", "1x"))
    assert set(per_trial.values()) == {2}
    assert [line.accepted for line in done.of("heavy", "1x")] == [False, True] * len(TASKS)


def test_the_ceiling_in_force_is_the_one_that_was_asked_for(done: Done) -> None:
    for line in done.of("heavy", "3x"):
        assert line.record is not None
        conditions = line.record.conditions
        assert conditions.effective is not None
        asked = conditions.requested.memory_ceiling_bytes
        assert conditions.effective.memory_ceiling_bytes == asked
        assert conditions.effective.differs == ()


def test_every_file_of_a_report_is_written(done: Done) -> None:
    names = {path.name for path in done.out.iterdir()}
    assert {"report.html", "report.json", "trials.parquet", "ledger.sqlite"} <= names
    assert json.loads((done.out / "report.json").read_text()) == done.document


def test_the_report_opens_with_numbers_and_names_policies(done: Done) -> None:
    first, second = done.document["opening"]
    assert any(sign.isdigit() for sign in first)
    assert any(sign.isdigit() for sign in second)
    assert done.document["policies"] == ["adaptive", "heavy"]


def test_both_runtimes_agree_on_every_verdict(on_processes: Done, in_containers: Done) -> None:
    def verdicts(done: Done) -> dict[tuple[str, str, str, int], tuple[str | None, ...]]:
        return {
            (line.task, line.entry, line.band, line.number): (line.verdict, line.cause, line.oom)
            for line in done.first
        }

    assert verdicts(on_processes) == verdicts(in_containers)


def test_killed_trials_run_again_at_a_higher_ceiling_and_split_the_lift(on_processes: Done) -> None:
    killed = {
        line.id: line for line in on_processes.first if line.cause == "oom_killed" and line.accepted
    }
    again = [line for line in on_processes.attempts if line.replay_of]
    assert {line.replay_of for line in again} == set(killed)
    for line in again:
        first, second = killed[str(line.replay_of)].record, line.record
        assert first is not None
        assert second is not None
        assert not line.accepted
        ceilings = [
            one.conditions.effective.memory_ceiling_bytes
            for one in (first, second)
            if one.conditions.effective and one.conditions.effective.memory_ceiling_bytes
        ]
        assert ceilings[1] == 3 * ceilings[0]
    store = open_store(on_processes.out / "ledger.sqlite")
    counted = sum(cell.n for cell in reading.cell_counts(store, "small"))
    assert counted == len(TASKS) * 2 * 3, "trials, no replays"
    replayed = on_processes.document["bands"][1]["split"]["replayed"]
    assert (replayed["killed"], replayed["replays"]) == (len(killed), len(again))
    rescued = sum(line.verdict == "passed" for line in again)
    assert replayed["rescue"] == rescued / (len(TASKS) * 2)
