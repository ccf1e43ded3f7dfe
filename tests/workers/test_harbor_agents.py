"""Harbor's own agents in our pods, for real: they live in a Python of their own, with Harbor."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import docker
import docker.errors
import pytest
from model_provider import KEY, Provider, Turn, model_provider
from own_gateway import OwnGateway, claims, own_gateway

from infranoise.models.api_access import ApiAccess
from infranoise.models.classify import classify
from infranoise.models.message import AttemptRecord
from infranoise.models.provider import Provider as Declared
from infranoise.scheduler.broker import embedded

pytestmark = pytest.mark.peers
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BASE = "debian:bookworm-slim"
JUDGE = "if [ -f /app/answer ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"
Task = Callable[..., Path]


@pytest.fixture(scope="module")
def peers(missing: Callable[[str], NoReturn]) -> Path:
    """The Python that Harbor is installed in."""
    named = os.environ.get("INFRANOISE_PEERS_PYTHON")
    if not named or not Path(named).is_file():
        missing("a Python with Harbor (INFRANOISE_PEERS_PYTHON)")
    return Path(named)


@pytest.fixture(
    scope="module", params=["process", pytest.param("docker", marks=pytest.mark.docker)]
)
def runtime(request: pytest.FixtureRequest, missing: Callable[[str], NoReturn]) -> str:
    if request.param == "docker":
        try:
            with contextlib.closing(docker.APIClient(version="auto")) as client:
                client.inspect_image(BASE)
        except docker.errors.DockerException as error:
            missing(f"a Docker engine with the image {BASE}: {error}")
    return str(request.param)


@pytest.fixture
def task(tmp_path: Path) -> Task:
    """A small task whose solution and time are a test's own."""

    def make(solution: str = "echo 42 > /app/answer", timeout_s: float = 30.0) -> Path:
        for name, text in {
            "task.toml": f'version = "1.0"\n[agent]\ntimeout_sec = {timeout_s}\n'
            "[environment]\nmemory_mb = 128\n",
            "instruction.md": "Write the answer.\n",
            "environment/Dockerfile": f"FROM {BASE}\nWORKDIR /app\n",
            "tests/test.sh": JUDGE + "\n",
            "solution/solve.sh": f"#!/bin/bash\n{solution}\n",
        }.items():
            path = tmp_path / "small" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
            path.chmod(0o755)
        return tmp_path / "small"

    return make


def start(
    peers: Path, task: Path, runtime: str, entry: dict[str, object], *access: str
) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [str(word) for word in (peers, HERE / "peers/harbor_attempt.py", task, runtime,
                                json.dumps(entry), task.parent / "kept", *access)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def ended(process: "subprocess.Popen[str]") -> AttemptRecord:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err
    return AttemptRecord.decode(out.splitlines()[-1])


def outcome(record: AttemptRecord) -> tuple[str, str]:
    found = classify(record.evidence)
    return found.verdict, found.cause


@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
def test_an_agent_of_harbors_gets_the_reward_that_it_gets_there(
    peers: Path, task: Task, runtime: str, agent: str, reward: float
) -> None:
    record = ended(start(peers, task(), runtime, {"agent": f"harbor:{agent}"}))
    assert record.evidence.reward == reward
    assert not record.evidence.harness_fault
    if runtime == "docker":
        assert rewards_of_harbor(peers, task(), agent) == [reward]


def rewards_of_harbor(peers: Path, task: Path, agent: str) -> list[float]:
    """What Harbor itself gives for a task, with its own docker backend."""
    jobs = task.parent / f"jobs-{agent}"
    words = ["run", "-p", task, "-a", agent, "-n", "1", "--jobs-dir", jobs, "--quiet", "--yes"]
    quiet = {"HARBOR_TELEMETRY": "off", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [str(word) for word in (peers.with_name("harbor"), *words)],
        env=os.environ | quiet,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    trials = [json.loads(path.read_text()) for path in jobs.glob("*/*/result.json")]
    return [trial["verifier_result"]["rewards"]["reward"] for trial in trials]


def test_an_agent_out_of_time_is_dead_before_the_verifier_and_says_so(
    peers: Path, task: Task, runtime: str
) -> None:
    late = task("(sleep 3; echo 42 > /app/answer) & sleep 100", timeout_s=1.5)
    record = ended(start(peers, late, runtime, {"agent": "harbor:oracle"}))
    assert outcome(record) == ("failed", "agent_timeout")
    assert record.evidence.reward == 0.0


@pytest.mark.docker
def test_a_pod_that_goes_away_under_the_agent_is_no_failure_of_the_agent(
    peers: Path, task: Task, missing: Callable[[str], NoReturn]
) -> None:
    folder, attempt = task("touch /app/at-work; sleep 100"), f"t{time.time_ns()}.1"
    process = start(peers, folder, "docker", {"agent": "harbor:oracle"}, "null", attempt)
    try:
        with contextlib.closing(docker.from_env()) as client:
            for event in client.events(decode=True, since=int(time.time()) - 1):
                began = str(event.get("Action", "")).startswith("exec_start")
                ours = attempt in event.get("Actor", {}).get("Attributes", {}).values()
                if began and ours and "solve.sh" in event["Action"] and "chmod" not in str(event):
                    client.containers.get(event["id"]).remove(force=True)
                    break
    except docker.errors.DockerException as error:
        missing(f"a Docker engine: {error}")
    record = ended(process)
    assert outcome(record)[0] == "infra_error", classify(record.evidence)
    assert not record.evidence.agent_fault, "a lost pod is no command that failed"
    assert not any(phase.timed_out for phase in record.evidence.phases), "nor was time short"


def test_an_agent_that_harbor_does_not_have_is_told_by_name(peers: Path, task: Task) -> None:
    record = ended(start(peers, task(), "process", {"agent": "harbor:terminus-3"}))
    found = classify(record.evidence)
    assert (found.verdict, found.cause) == ("infra_error", "start_failed")
    assert "terminus-2" in found.detail


@pytest.fixture(scope="module")
def maker() -> Iterator[Provider]:
    with model_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def gateway(maker: Provider) -> Iterator[OwnGateway]:
    declared = Declared(dialect="openai", base_url=f"{maker.url}/v1", key="env:MAKER_KEY")
    with embedded() as broker, own_gateway(broker, {"openai": declared}, {"MAKER_KEY": KEY}) as own:
        yield own


def move(*keystrokes: str, done: bool = False) -> Turn:
    """What terminus-2 is told to do next."""
    typed = [{"keystrokes": keys, "duration": 0.3} for keys in keystrokes]
    said = {"analysis": "a", "plan": "p", "commands": typed, "task_complete": done}
    return Turn(json.dumps(said))


def with_tmux(folder: Path, missing: Callable[[str], NoReturn]) -> Path:
    """Bring this machine's tmux into the task's image: nothing can be downloaded there."""
    program = shutil.which("tmux")
    if program is None:
        missing("tmux, which terminus-2 types into")
    linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"=> (/\S+)", linked)
    for path in (program, *libraries):
        shutil.copy(path, folder / "environment")
    (folder / "environment/Dockerfile").write_text(
        f"FROM {BASE}\nCOPY tmux /usr/bin/\nCOPY lib* /opt/tmux/\n"
        "ENV LD_LIBRARY_PATH=/opt/tmux\nWORKDIR /app\n"
    )
    return folder


@pytest.mark.docker
def test_terminus_2_solves_a_task_through_the_gateway_and_never_sees_the_key(
    peers: Path,
    task: Task,
    maker: Provider,
    gateway: OwnGateway,
    missing: Callable[[str], NoReturn],
) -> None:
    maker.plays(move("echo 42 > answer\n"), move(done=True))
    id_ = f"t{time.time_ns()}.1"
    gateway.lease(id_, fence=7)
    token = gateway.seal.mint(claims(id_, 7, provider="openai", dialect="openai"))
    access = ApiAccess(url=gateway.url, token=token, dialect="openai", model="m")
    folder = with_tmux(task(timeout_s=60.0), missing)
    entry = {"agent": "harbor:terminus-2", "model": "m",
             "options": {"record_terminal_session": False}}  # fmt: skip
    record = ended(start(peers, folder, "docker", entry, _shown(access), id_))
    assert outcome(record) == ("passed", ""), classify(record.evidence)
    assert len(maker.requests) >= 2
    assert "Write the answer." in str(maker.requests[0]["messages"])
    assert record.evidence.api is not None
    assert record.evidence.api.calls == len(maker.requests)
    assert any("harbor_context.json" in kept.name for kept in record.artefacts)
    left = [path for path in (folder.parent / "kept").rglob("*") if path.is_file()]
    assert left
    assert not [path for path in left if KEY.encode() in path.read_bytes()]


def _shown(access: ApiAccess) -> str:
    return json.dumps(access.model_dump())
