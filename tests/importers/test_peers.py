"""Round trips: what Harbor and Inspect themselves write is read with their own totals.

They live in a Python of their own, named by INFRANOISE_PEERS_PYTHON, with `pip install harbor
inspect-ai` and infranoise itself, for its plug-in.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from .conftest import Took, write

pytestmark = pytest.mark.peers
Take = Callable[..., Took]
HERE = Path(__file__).parent / "peers"
TASKS = ("solved", "wrong", "killed", "late", "early", "broken", "flaky", "ungraded", "unbuilt")


@pytest.fixture(scope="module")
def peers(missing: Callable[[str], NoReturn]) -> Path:
    """The Python that Harbor and Inspect are installed in."""
    named = os.environ.get("INFRANOISE_PEERS_PYTHON")
    if not named or not Path(named).is_file():
        missing("a Python with Harbor and Inspect (INFRANOISE_PEERS_PYTHON)")
    return Path(named)


def run(*words: object, **env: str) -> None:
    done = subprocess.run(
        [str(word) for word in words],
        env={
            **os.environ,
            "HARBOR_TELEMETRY": "off",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            **env,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def harbor_task(folder: Path, name: str, image: str = "none", memory_mb: int = 128) -> None:
    """A task whose verifier looks for what the agent left; but one has all the time it wants."""
    agent_s = 4.0 if name == "late" else 90.0
    write(folder / name / "instruction.md", name)
    write(
        folder / name / "task.toml",
        f'version = "1.0"\n[agent]\ntimeout_sec = {agent_s}\n[verifier]\ntimeout_sec = 90.0\n'
        f'[environment]\ndocker_image = "{image}"\ncpus = 1\nmemory_mb = {memory_mb}\n',
    )
    verdict = (
        'if [ -f "$ROOT/app/done" ]; then echo 1; else echo 0; fi > $ROOT/logs/verifier/reward.txt'
    )
    test = write(folder / name / "tests" / "test.sh", "#!/bin/bash\n"
                 + ("true\n" if name == "ungraded" else f"{verdict}\n"))  # fmt: skip
    test.chmod(0o755)
    (folder / name / "environment").mkdir(exist_ok=True)


@pytest.fixture(scope="module")
def jobs(peers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A job of Harbor's own making, with its plug-in loaded, one retry allowed."""
    root = tmp_path_factory.mktemp("harbor")
    (root / "marks").mkdir()
    for name in TASKS:
        harbor_task(root / "tasks", name)
    config: dict[str, Any] = {
        "job_name": "staged",
        "jobs_dir": str(root / "jobs"),
        "n_concurrent_trials": 3,
        "retry": {"max_retries": 1, "include_exceptions": ["RuntimeError"], "min_wait_sec": 0.0},
        "environment": {"import_path": "stage:Folder"},
        "agents": [{"import_path": "stage:Scripted", "model_name": "acme/oracle-1"}],
        "datasets": [{"path": str(root / "tasks")}],
    }
    run(
        peers.with_name("harbor"), "run", "-c", write(root / "job.json", config),
        "--plugin", "infranoise", "--quiet", "--yes",
        PYTHONPATH=str(HERE), STAGE_MARKS=str(root / "marks"),
    )  # fmt: skip
    return root / "jobs"


def test_harbors_own_job_is_read_with_its_own_totals(take: Take, jobs: Path) -> None:
    took = take("harbor", jobs)
    stated = json.loads((jobs / "staged" / "result.json").read_text())["stats"]
    assert took.brought.trials == stated["n_completed_trials"] == len(TASKS)
    assert [total for total in took.brought.source.totals if not total.agrees] == []
    assert not took.faults
    assert took.outcomes == {
        "solved": ("passed", ""),
        "wrong": ("failed", "wrong"),
        "killed": ("failed", "wrong"),  # as Harbor has it: see what it does not record
        "late": ("failed", "agent_timeout"),
        "early": ("infra_error", "unknown"),
        "broken": ("infra_error", "disk_full"),
        "flaky": ("passed", ""),
        "ungraded": ("infra_error", "verifier_error"),
        "unbuilt": ("infra_error", "image_build"),
    }


def test_what_harbor_hides_is_said(take: Take, jobs: Path) -> None:
    """A silent kill (field note H1), a false agent timeout (H2), erased retries (H4)."""
    took = take("harbor", jobs)
    assert took.lacks["OOM kills"] == 2
    assert took.lacks["agent timeouts that were none"] == 1
    assert took.lacks["retried attempts"] == 2
    attempts = [(line.task, line.number, line.cause) for line in took.attempts if line.number > 1]
    assert attempts == [("broken", 2, "disk_full"), ("flaky", 2, "")]
    first = next(line for line in took.attempts if line.task == "flaky")
    assert (first.verdict, first.cause, first.accepted) == ("infra_error", "network", False)


def test_the_plug_in_brings_node_and_load(take: Take, jobs: Path) -> None:
    took = take("harbor", jobs)
    last = {line.task: line.record for line in took.attempts if line.accepted}
    record = last["solved"]
    assert record is not None
    assert record.conditions.node_profile in {
        profile.profile_hash for profile in took.brought.profiles.values()
    }
    assert record.conditions.load_end is not None
    assert record.conditions.slots == 3
    assert (record.usage.api_calls, record.clocks.api_wait_s) == (2, 0.5)
    assert "node, load and neighbours outside the job" not in took.lacks


@pytest.mark.docker
def test_a_real_kill_in_harbors_docker_leaves_no_trace(
    peers: Path, take: Take, tmp_path: Path, missing: Callable[[str], NoReturn]
) -> None:
    """Harbor's own docker backend, and a process that the kernel kills for memory."""
    if subprocess.run(
        ["docker", "compose", "version"], capture_output=True, check=False
    ).returncode:
        missing("the Docker engine with its compose plug-in")
    harbor_task(tmp_path / "tasks", "killed", image="python:3.12-slim", memory_mb=64)
    solve = write(
        tmp_path / "tasks" / "killed" / "solution" / "solve.sh",
        "#!/bin/bash\nmkdir -p /app; python3 -c 'b = bytearray(900_000_000)' && touch /app/done\n",
    )
    solve.chmod(0o755)
    run(
        peers.with_name("harbor"), "run", "-p", tmp_path / "tasks", "-a", "oracle", "-n", 1,
        "--jobs-dir", tmp_path / "jobs", "--quiet", "--yes",
    )  # fmt: skip
    took = take("harbor", tmp_path / "jobs")
    assert took.outcomes == {"killed": ("failed", "wrong")}
    assert took.lacks["OOM kills"] == 1
    assert all(total.agrees for total in took.brought.source.totals)


@pytest.mark.parametrize("form", ["eval", "json"])
def test_inspects_own_log_is_read_with_its_own_totals(
    peers: Path, take: Take, tmp_path: Path, form: str
) -> None:
    run(peers, HERE / "inspect_stage.py", tmp_path / "logs", form, 8)
    took = take("inspect", tmp_path / "logs")
    assert not took.faults
    assert took.brought.trials == 16
    assert [total for total in took.brought.source.totals if not total.agrees] == []
    assert len(took.brought.source.totals) == 3
    counted = {
        cell.task.split("/")[1].partition("-")[0]: (cell.n, cell.passed, cell.infra_errors)
        for cell in took.cells
    }
    assert counted == {
        "right": (2, 2, 0),
        "wrong": (2, 0, 0),
        "lost": (2, 0, 2),
        "flaky": (2, 2, 0),
    }
    assert took.lacks["samples with an error"] == 4
    assert took.lacks["retried samples"] == 8
    retried = [line for line in took.attempts if line.number == 1 and not line.accepted]
    assert {line.cause for line in retried} == {"network"}
