"""Preflight: whose defect a no-op and an oracle show, and the command on tasks that are not fit."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from infranoise.cli.preflight import judged
from infranoise.cli.preflight import preflight as run_preflight
from infranoise.models.evidence import Evidence, Fault, Phase


def ended(reward: float | None, *, kills: int = 0, left: int = 0) -> Evidence:
    return Evidence(
        phases=(
            Phase(name="agent", exit_code=0, oom_kills=kills, left_behind=left),
            Phase(name="verifier", exit_code=0, oom_kills=0),
        ),
        reward=reward,
    )


NO_POD = Evidence(fault=Fault(cause="image_build", message="RUN exited 1"))
CASES = {
    "fit": (ended(0), ended(1), "ok", ""),
    "the no-op passes": (ended(1), ended(1), "task", "the verifier passes an untouched pod"),
    "the oracle fails": (ended(0), ended(0), "task", "its solution does not solve it here"),
    "a service was stopped": (ended(0), ended(0, left=2), "task", 'after_agent = "keep"'),
    "no verdict": (ended(None), ended(1), "task", "no-op: verifier_error"),
    "no pod": (NO_POD, NO_POD, "infrastructure", "image_build: RUN exited 1"),
    "a kill": (ended(0), ended(0, kills=1), "infrastructure", "oracle: oom_killed"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_defect_is_named_with_its_evidence(case: str) -> None:
    nop, oracle, status, words = CASES[case]
    found, why = judged(nop, oracle)
    assert found == status
    assert words in why


def write(folder: Path, **files: str) -> None:
    texts = {
        "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
        "instruction.md": "Do it.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
        "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
        "solution/solve.sh": "touch /app/answer",
        **files,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def preflight(folder: Path, *options: str) -> tuple[int, dict[str, tuple[str, str]]]:
    rest = (str(folder / "*"), "--runtime", "process", "--json")
    ended = subprocess.run(
        [sys.executable, "-m", "infranoise", "preflight", *options, *rest],
        capture_output=True,
        text=True,
        check=False,
    )
    document = json.loads(ended.stdout)
    checks = {c["task"].split("/")[-1]: (c["status"], c["why"]) for c in document["checks"]}
    notices = {n["task"].split("/")[-1]: ("notice", n["why"]) for n in document["notices"]}
    return ended.returncode, checks | notices


def test_tasks_are_tried_and_those_that_are_not_fit_are_named(tmp_path: Path) -> None:
    write(tmp_path / "fit")
    write(tmp_path / "generous", **{"tests/test.sh": "echo 1 > /logs/verifier/reward.txt"})
    write(tmp_path / "broken", **{"task.toml": "this is no TOML"})
    code, found = preflight(tmp_path)
    assert code == 1
    assert found["fit"][0] == "ok"
    assert found["generous"][0] == "task"
    assert "not TOML" in found["broken"][1] or "TOML" in found["broken"][1]


def test_what_the_files_tell_is_found_before_anything_is_spent(tmp_path: Path) -> None:
    environment = "[environment]\nmemory_mb = 64\n"
    write(tmp_path / "cpus", **{"task.toml": f'version = "1.0"\n{environment}cpus = 4096\n'})
    write(
        tmp_path / "variable",
        **{"task.toml": f'{environment}[environment.env]\nKEY = "${{INFRANOISE_NOWHERE}}"\n'},
    )
    write(tmp_path / "silent", **{"task.toml": 'version = "1.0"\n'})
    write(tmp_path / "huge", **{"task.toml": "[environment]\nmemory_mb = 1e9\n"})
    write(tmp_path / "several", **{"environment/docker-compose.yaml": "services: {}\n"})
    code, found = preflight(tmp_path, "--static")
    assert code == 1
    assert found["cpus"][0] == "notice"
    assert "4096 cpus" in found["cpus"][1]
    assert "INFRANOISE_NOWHERE" in found["variable"][1]
    assert "memory floor" in found["huge"][1]
    assert found["silent"][0] == "notice"
    assert "default_spec" in found["silent"][1]
    assert "several containers" in found["several"][1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_stops_it_on_the_way_leaves_no_pod(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "task", **{"tests/test.sh": "sleep 600"})
    pods = tmp_path / "state" / "pods"
    monkeypatch.setenv("INFRANOISE_STATE", str(tmp_path / "state"))

    def stop_once_there_is_a_pod() -> None:
        while not (pods.is_dir() and any(pods.glob("*/root/tests/test.sh"))):
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    other = threading.Thread(target=stop_once_there_is_a_pod, daemon=True)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        run_preflight(
            [str(tmp_path / "task")], runtime="process", slots=1, static=False, as_json=True
        )
    other.join()
    assert not list(pods.iterdir())
