"""docker-compose.yml: a fleet comes up, runs an experiment, shows it, and leaves nothing behind."""

import base64
import json
import os
import secrets
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

pytestmark = pytest.mark.docker
ROOT = Path(__file__).parents[2]
BASES = ("python:3.12.11-slim-bookworm", "debian:bookworm-20250630-slim")
NAME = f"compose-{secrets.token_hex(4)}"
EXPERIMENT = f"""
name = "{NAME}"
tasks = ["tasks/small"]
samples = 3
bands = ["1x", "uncapped"]
[[entries]]
agent = "oracle"
[pods]
runtime = "docker"
network = "none"
"""
TASK = {
    "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
    "instruction.md": "Do it.",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
    "solution/solve.sh": "echo at work; touch /app/answer",
}
SERVICES = {"queue", "database", "scheduler", "worker-1", "worker-2", "flower"}


def run(*words: str, **environ: str) -> str:
    """A command's standard output; its failure is the test's."""
    ended = subprocess.run(
        words,
        cwd=ROOT,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        timeout=600,  # images may have to be built from nothing
        check=False,
    )
    assert ended.returncode == 0, f"{words}\n{ended.stdout[-3000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


@dataclass(frozen=True)
class Compose:
    """One project of docker-compose.yml, with secrets and ports of its own."""

    folder: Path
    project: str = field(default_factory=lambda: f"infranoise-{secrets.token_hex(4)}")

    def __call__(self, *words: str) -> str:
        environ = {
            "COMPOSE_PROJECT_NAME": self.project,
            "INFRANOISE_VERSION": "test",
            "INFRANOISE_SECRETS": str(self.folder / "secrets"),
            "INFRANOISE_EXPERIMENTS": str(self.folder),
            "INFRANOISE_BUILD_NETWORK": "host",
            "INFRANOISE_HEALTH_EVERY": "2s",
            "INFRANOISE_QUEUE_PORT": "0",  # the engine chooses
            "INFRANOISE_FLOWER_PORT": "0",
        }
        return run("docker", "compose", *words, **environ)

    def command(self, *words: str) -> str:
        """What a command of the program prints, run in this fleet."""
        return self("run", "--rm", "--no-TTY", "infranoise", *words)

    def left(self) -> list[str]:
        """Containers, volumes and networks of this project that still are."""
        ours = f"label=com.docker.compose.project={self.project}"
        found = (
            run("docker", *words, "--quiet", "--filter", ours)
            for words in (("ps", "--all"), ("volume", "ls"), ("network", "ls"))
        )
        return "".join(found).split()


@pytest.fixture(scope="module")
def compose(
    tmp_path_factory: pytest.TempPathFactory, missing: Callable[[str], NoReturn]
) -> Iterator[Compose]:
    """A fleet that has just come up; taken down at the end, with all that it kept."""
    for what, words in {
        "the Docker engine with its compose plug-in (deploy/compose-plugin.sh)": (
            *("docker", "compose", "version"),
        ),
        "the base images (deploy/base-image.sh)": ("docker", "image", "inspect", *BASES),
    }.items():
        if subprocess.run(words, capture_output=True, check=False).returncode:
            missing(what)
    folder = tmp_path_factory.mktemp("compose")
    folder.chmod(0o755)  # the command line in the container is another user
    for path, text in TASK.items():
        file = folder / "tasks" / "small" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "small.toml").write_text(EXPERIMENT)
    run("deploy/secrets.sh", str(folder / "secrets"))
    made = Compose(folder)
    try:
        made("up", "--detach", "--build", "--wait", "--wait-timeout", "240")
        yield made
    finally:
        made("down", "--volumes", "--timeout", "60")


@pytest.fixture(scope="module")
def done(compose: Compose) -> dict[str, Any]:
    """What `submit --wait` says when the experiment is done."""
    *_, last = compose.command("submit", "small.toml", "--wait", "--json").splitlines()
    told: dict[str, Any] = json.loads(last)
    return told


def test_every_service_is_healthy(compose: Compose) -> None:
    listed = [json.loads(line) for line in compose("ps", "--format", "json").splitlines()]
    assert {one["Service"]: one["Health"] for one in listed} == dict.fromkeys(SERVICES, "healthy")


def test_no_password_stands_in_a_command_line_or_in_the_environment(compose: Compose) -> None:
    shown = run("docker", "inspect", *compose("ps", "--quiet").split())
    for name in ("queue_password", "database_password", "flower_auth"):
        assert (compose.folder / "secrets" / name).read_text() not in shown


def test_a_submitted_experiment_ends_with_every_trial_accepted(
    compose: Compose, done: dict[str, Any]
) -> None:
    assert (done["experiment"]["n"], done["experiment"]["passed"]) == (6, 6)
    assert {band["band"]: band["n"] for band in done["bands"]} == {"1x": 3, "uncapped": 3}
    assert {node["node"] for node in done["nodes"]} == {"worker-1", "worker-2"}
    log = compose.command("logs", "tasks/small|oracle|1x|#0", "--json")
    assert json.loads(log)["logs"] == {"agent.stdout": "at work\n"}


def test_kernel_counters_come_from_outside_the_pods(compose: Compose, done: dict[str, Any]) -> None:
    shown = json.loads(compose.command("trial", "show", "tasks/small|oracle|1x|#1", "--json"))
    (attempt,) = shown["attempts"]
    evidence, conditions = attempt["record"]["evidence"], attempt["record"]["conditions"]
    assert evidence["enforcement"].startswith("docker:cgroup-v")
    assert {phase["oom_kills"] for phase in evidence["phases"]} == {0}
    assert conditions["effective"]["memory_ceiling_bytes"] == 64 << 20


def test_flower_shows_the_attempts_behind_its_password(
    compose: Compose, done: dict[str, Any]
) -> None:
    address = compose("port", "flower", "5555").strip()
    request = urllib.request.Request(f"http://{address}/api/tasks?state=SUCCESS")
    user = (compose.folder / "secrets" / "flower_auth").read_bytes()
    request.add_header("Authorization", f"Basic {base64.b64encode(user).decode()}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        tasks = json.load(answer)
    assert len(tasks) == 6
    assert {task["worker"] for task in tasks.values()} <= {
        "worker-1@infranoise",
        "worker-2@infranoise",
    }


def test_status_says_where_flower_is(compose: Compose, done: dict[str, Any]) -> None:
    told = json.loads(compose.command("status", NAME, "--json"))
    assert told["flower"].startswith("http://127.0.0.1:")
    assert {node["condition"] for node in told["fleet"]["nodes"]} == {"up"}


def test_down_leaves_nothing(compose: Compose, done: dict[str, Any]) -> None:
    compose("down", "--volumes", "--timeout", "60")
    assert not compose.left()
    pods = run(
        "docker", "ps", "--all", "--quiet", "--filter", f"label=dev.infranoise.experiment={NAME}"
    )
    assert not pods.split()
