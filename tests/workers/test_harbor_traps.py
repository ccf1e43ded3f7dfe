"""The six traps of an eval harness, each as ours goes past it and as Harbor, run beside, does not.

H1 an OOM kill says nothing; H2 a time-out of the infrastructure passes for the agent's; H3 an agent
outlives its time-out and scores; H4 a retry erases the attempt before it; H5 an eviction counts as
a score of zero; H6 what a killed harness ran stays for ever. (Ours first: Harbor works meanwhile.)
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import docker
import docker.errors
import pytest

from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.errors import PodLost
from infranoise.models.evidence import Evidence, Fault
from infranoise.models.ledger.attempts import owed, place
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.store import open_store
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.outcome import Outcome
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.harness.agent import Assignment, Tried
from infranoise.workers.pods.docker.config import LABEL
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import Pod
from infranoise.workers.slots import Slots

pytestmark = pytest.mark.docker
MIB = 1 << 20
STAGE = Path(__file__).parents[1] / "importers" / "peers"
IMAGE, WITH_PYTHON = "debian:bookworm-slim", "python:3.12-slim"
HOG = "python3 -c 'x = b\"y\" * (200 << 20)'; true"  # 200 MiB where 64 may be had
LATE = "sleep 4; touch /app/answer"  # where 2 s may be taken
JUDGE = "if [ -f /app/answer ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"
ORACLE = Entry(agent="oracle")
EARLY = "the way to the sandbox timed out"
STAGED = (
    'if [ -f "$ROOT/app/done" ]; then r=1; else r=0; fi; echo $r > $ROOT/logs/verifier/reward.txt'
)
Missing = Callable[[str], NoReturn]


def write_task(
    folder: Path, solution: str, verifier: str = JUDGE, *, image: str = IMAGE, agent_s: float = 30
) -> Path:
    """A task that solves itself in this way."""
    for name, text in {
        "task.toml": f'version = "1.0"\n[agent]\ntimeout_sec = {agent_s:.1f}\n'
        "[verifier]\ntimeout_sec = 60.0\n"
        f'[environment]\ndocker_image = "{image}"\ncpus = 1\nmemory_mb = 64\n',
        "instruction.md": "Solve it.\n",
        "tests/test.sh": f"#!/bin/bash\n{verifier}\n",
        "solution/solve.sh": f"#!/bin/bash\nmkdir -p /app\n{solution}\n",
        "environment/.keep": "",
    }.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return folder


# --- Harbor, at work in the background ---


HARBOR: dict[str, "Harbor"] = {}  # the one at work, where there is a Harbor


class Harbor:
    """Two jobs of Harbor's: one in containers, which is killed at its end; one on a stage where
    what it is told of its sandboxes is ours to say.
    """

    def __init__(self, python: Path, folder: Path) -> None:
        self.folder, self.program = folder, python.with_name("harbor")
        self.mark = secrets.token_hex(4)
        docker_tasks = folder / "docker"
        write_task(docker_tasks / "killed", HOG, image=WITH_PYTHON)
        write_task(docker_tasks / "outlives", LATE, f"sleep 4; {JUDGE}", agent_s=2)
        write_task(docker_tasks / f"orphan-{self.mark}", "sleep 300", agent_s=300)
        self.in_docker = self._start("-p", docker_tasks, "-a", "oracle", "-n", 3,
                                     "--jobs-dir", folder / "in-docker")  # fmt: skip
        for name in ("early", "flaky", "evicted", "solved"):
            write_task(folder / "staged-tasks" / name, ":", STAGED, image="none", agent_s=90)
        (folder / "marks").mkdir()
        (folder / "job.json").write_text(json.dumps(self._staged_job()))
        self.on_stage = self._start("-c", folder / "job.json")

    def _staged_job(self) -> dict[str, Any]:
        return {
            "job_name": "staged",
            "jobs_dir": str(self.folder / "on-stage"),
            "n_concurrent_trials": 4,
            "retry": {
                "max_retries": 1,
                "include_exceptions": ["RuntimeError"],
                "min_wait_sec": 0.0,
            },
            "environment": {"import_path": "stage:Folder"},
            "agents": [{"import_path": "stage:Scripted", "model_name": "acme/oracle-1"}],
            "datasets": [{"path": str(self.folder / "staged-tasks")}],
        }

    def _start(self, *words: object) -> "subprocess.Popen[bytes]":
        quiet = {
            "HARBOR_TELEMETRY": "off",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "PYTHONPATH": str(STAGE),
            "STAGE_MARKS": str(self.folder / "marks"),
        }
        asked = [str(word) for word in (self.program, "run", *words, "--quiet", "--yes")]
        with (self.folder / "harbor.log").open("ab") as log:
            return subprocess.Popen(
                asked, env=os.environ | quiet, stdout=log, stderr=log, start_new_session=True
            )

    def staged(self) -> tuple[int, dict[str, Any], dict[str, dict[str, Any]]]:
        """Exit code of the staged job, its own statistics, and its trials by task."""
        code = self.on_stage.wait(120)
        job = json.loads((self.folder / "on-stage/staged/result.json").read_text())
        return code, job["stats"], self.trials("on-stage")

    def trials(self, job: str) -> dict[str, dict[str, Any]]:
        """Results of a job's trials, by task, as far as there are any."""
        found = (self.folder / job).glob("*/*/result.json")
        return {path.parent.name.partition("__")[0]: json.loads(path.read_text()) for path in found}

    def await_trial(self, task: str) -> dict[str, Any]:
        """What a trial in a container came to."""
        deadline = time.monotonic() + 180
        while task not in (done := self.trials("in-docker")):
            assert time.monotonic() < deadline, (self.folder / "harbor.log").read_text()
            assert self.in_docker.poll() is None, (self.folder / "harbor.log").read_text()
            time.sleep(0.1)
        return done[task]

    def orphans(self) -> list[str]:
        """The containers of the trial that does not end."""
        words = ("ps", "--all", "--quiet", "--filter", f"name=orphan-{self.mark}")
        return docker_says(*words).split()

    def clear(self) -> None:
        """End what runs and remove what it left."""
        for job in (self.in_docker, self.on_stage):
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
            job.wait(20)
        for name in ("killed", "outlives", f"orphan-{self.mark}"):
            for one in docker_says("ps", "-aq", "--filter", f"name=^{name}__").split():
                if str(self.folder) in docker_says("inspect", one):
                    docker_says("rm", "--force", one)
        nets = docker_says("network", "ls", "-q", "--filter", f"name=orphan-{self.mark}").split()
        for network in nets:
            docker_says("network", "rm", network)


def docker_says(*words: str) -> str:
    ended = subprocess.run(["docker", *words], capture_output=True, text=True, check=False)
    return ended.stdout


@pytest.fixture(scope="module")
def harbor(missing: Missing) -> Harbor:
    """Harbor, run beside; it has been at work since the first test."""
    if HARBOR.get("now") is None:
        missing("Harbor and docker's compose plug-in (INFRANOISE_PEERS_PYTHON)")
    return HARBOR["now"]


@pytest.fixture(scope="module", autouse=True)
def at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    named = Path(os.environ.get("INFRANOISE_PEERS_PYTHON", ""))
    compose = shutil.which("docker") and "v" in docker_says("compose", "version")
    if not named.is_file() or not compose:
        yield
        return
    HARBOR["now"] = Harbor(named, tmp_path_factory.mktemp("harbor"))
    try:
        yield
    finally:
        HARBOR.pop("now").clear()


# --- ours ---


@pytest.fixture(scope="module")
def pods(missing: Missing) -> Iterator[DockerPods]:
    try:
        with contextlib.closing(docker.APIClient(version="auto")) as client:
            for image in (IMAGE, WITH_PYTHON):
                client.inspect_image(image)
    except docker.errors.DockerException as error:
        missing(f"a Docker engine with {IMAGE} and {WITH_PYTHON} (deploy/base-image.sh): {error}")
    runtime = DockerPods()
    yield runtime
    runtime.close()


def attempt(pods: DockerPods, folder: Path, entry: Entry = ORACLE) -> AttemptRecord:
    """One attempt of a task by our own worker, in a container."""
    task, at = load_task(folder), time.time()
    message = AttemptMessage(
        attempt_id=f"{folder.name}-{at:.6f}.1",
        trial_id=folder.name,
        experiment="traps",
        key=TrialKey(cell=CellKey(task=task.name, entry=entry.name, band="1x"), sample=0),
        number=1,
        task=task,
        entry=entry,
        limits=Limits(memory_ceiling_bytes=64 * MIB),
        runtime="docker",
        network="none",
        agent_timeout_s=task.spec.agent_timeout_s or 30,
        verifier_timeout_s=60,
        build_timeout_s=60,
        seed=1,
        queued_at=at,
        placed_at=at,
        deadline_at=at + 300,
    )
    return run_attempt(message, pods, Node("here", Bearings(), Slots(1)))


def ends(record: AttemptRecord) -> Outcome:
    return classify(record.evidence)


def test_h1_a_kill_for_memory_is_told(pods: DockerPods, tmp_path: Path) -> None:
    outcome = ends(attempt(pods, write_task(tmp_path / "killed", HOG, image=WITH_PYTHON)))
    assert (outcome.verdict, outcome.cause) == ("infra_error", "oom_killed")
    assert outcome.oom == "collateral"


class Early:
    """An agent whose way to its pod times out at once, as its library or as our pods tell it."""

    def __init__(self, ours: bool) -> None:
        self.fault: Exception = PodLost(EARLY) if ours else TimeoutError(EARLY)

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        pass

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        raise self.fault


@pytest.mark.parametrize(
    ("ours", "ending"),
    [(True, ("infra_error", "network")), (False, ("failed", "agent_error"))],
    ids=["told by the pod", "told by the agent's own code"],
)
def test_h2_a_time_out_that_is_not_the_agents_is_not_called_so(
    ours: bool,
    ending: tuple[str, str],
    pods: DockerPods,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = ModuleType("early_agents")
    module.Early = Early  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "early_agents", module)
    entry = Entry(agent="early_agents:Early", options={"ours": ours})
    record = attempt(pods, write_task(tmp_path / "early", ":"), entry)
    outcome = ends(record)
    assert (outcome.verdict, outcome.cause) == ending
    assert EARLY in outcome.detail
    assert not any(phase.timed_out for phase in record.evidence.phases)


def test_h3_an_agent_is_dead_before_it_is_judged(pods: DockerPods, tmp_path: Path) -> None:
    folder = write_task(tmp_path / "outlives", LATE, f"sleep 4; {JUDGE}", agent_s=2)
    record = attempt(pods, folder)
    assert (ends(record).verdict, ends(record).cause) == ("failed", "agent_timeout")
    assert record.evidence.reward == 0.0


@pytest.fixture(scope="module")
def killed_twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """A run in which every attempt is killed for memory, with one retry: exit code and folder."""
    folder = tmp_path_factory.mktemp("run")
    write_task(folder / "killed", f"echo at work; {HOG}", image=WITH_PYTHON)
    (folder / "e.toml").write_text(
        'tasks = ["killed"]\nsamples = 1\nbands = ["1x"]\n[[entries]]\nagent = "oracle"\n'
        '[pods]\nruntime = "docker"\nnetwork = "none"\n[run]\nmax_attempts = 2\n'
    )
    ended = subprocess.run(
        [sys.executable, "-m", "infranoise", "run", "e.toml", "--out", "out"],
        cwd=folder,
        env=os.environ | {"INFRANOISE_STATE": str(folder / "state")},
        capture_output=True,
        check=False,
    )
    return ended.returncode, folder / "out"


def told(*words: str | Path) -> Any:
    """What a command says with `--json`."""
    asked = [sys.executable, "-m", "infranoise", *map(str, words), "--json"]
    return json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)


def test_h4_a_retry_erases_nothing(killed_twice: tuple[int, Path]) -> None:
    _, out = killed_twice
    shown = told("trial", "show", f"{out.parent.name}/killed", "--store", out / "ledger.sqlite")[
        "attempts"
    ]
    assert [one["number"] for one in shown] == [1, 2]
    assert [one["cause"] for one in shown] == ["oom_killed", "oom_killed"]
    assert [one["accepted"] for one in shown] == [False, True]
    for one in shown:
        kills = [phase["oom_kills"] for phase in one["record"]["evidence"]["phases"]]
        assert sum(kills) > 0
        assert "at work" in (out / "artefacts" / one["id"] / "agent.stdout").read_text()


def test_h5_a_run_that_infrastructure_decided_says_so_by_its_exit_code(
    killed_twice: tuple[int, Path],
) -> None:
    assert killed_twice[0] == 3


def test_h5_an_eviction_is_scored_three_ways_and_never_silently_zero(
    tmp_path: Path, make_record: Callable[..., AttemptRecord]
) -> None:
    write_task(tmp_path / "one", ":")
    (tmp_path / "small.toml").write_text(
        'tasks = ["one"]\nsamples = 4\nbands = ["1x"]\n[[entries]]\nagent = "oracle"\n'
        '[pods]\nruntime = "docker"\nnetwork = "none"\n'
    )
    store = tmp_path / "ledger.sqlite"
    told("submit", tmp_path / "small.toml", "--store", store)
    with contextlib.closing(open_store(store).connect()) as connection:
        engine = connection.engine
        trials = owed(engine, "small", limit=4)
        place(engine, "small", "n1", trials)
        evicted = Evidence(fault=Fault(cause="evicted", message="the node was low on memory"))
        records = [make_record(trial.id) for trial in trials[:2]]
        records += [make_record(trials[2].id, reward=0.0)]
        records += [make_record(trials[3].id, evidence=evicted)]
        ingest(engine, [Ending.of(record) for record in records], max_attempts=1)
        engine.dispose()
    (band,) = told("analyze", store)["bands"]
    score = band["score"]
    assert score["strict"]["est"] == 2 / 4
    assert score["excluded"]["est"] == 2 / 3
    assert score["bounds"] == [2 / 4, 3 / 4]
    assert band["infra_rate"]["est"] == 1 / 4


ORPHAN = """
import sys, time
from infranoise.models.limits import Limits
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder
from pathlib import Path
pods = DockerPods()
order = PodOrder(attempt_id=sys.argv[1], experiment="traps", trial="orphan", limits=Limits(),
    environment=Path(sys.argv[2]), environment_hash="traps", expires_at=time.time() + 3600,
    image="debian:bookworm-slim")
pods.prepare(order)
pods.pod(order).start()
print("up", flush=True)
time.sleep(600)
"""


def test_h6_what_a_killed_worker_ran_is_removed_by_the_next(
    pods: DockerPods, tmp_path: Path
) -> None:
    name = f"orphan-{secrets.token_hex(4)}.1"
    asked = [sys.executable, "-c", ORPHAN, name, str(tmp_path)]
    with subprocess.Popen(asked, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"up\n"
        worker.kill()
    left = ("ps", "-q", "--no-trunc", "--filter", f"label={LABEL}attempt={name}")
    assert docker_says(*left)
    assert name in pods.reap(now=time.time())
    assert not docker_says(*left)


# --- and Harbor ---


@pytest.mark.peers
def test_h1_harbor_says_nothing_of_the_kill(harbor: Harbor) -> None:
    killed = harbor.await_trial("killed")
    assert killed["verifier_result"]["rewards"]["reward"] == 0.0
    assert killed["exception_info"] is None
    assert "oom" not in json.dumps(killed).lower()


@pytest.mark.peers
def test_h2_harbor_calls_it_a_time_out_of_the_agent(harbor: Harbor) -> None:
    _, _, trials = harbor.staged()
    fault = trials["early"]["exception_info"]
    assert fault["exception_type"] == "AgentTimeoutError"
    assert "timed out after 90.0 seconds" in fault["exception_message"]


@pytest.mark.peers
def test_h3_harbor_lets_it_live_and_scores_what_it_did_late(harbor: Harbor) -> None:
    outlives = harbor.await_trial("outlives")
    assert outlives["exception_info"]["exception_type"] == "AgentTimeoutError"
    assert outlives["verifier_result"]["rewards"]["reward"] == 1.0


@pytest.mark.peers
def test_h4_harbor_keeps_a_count_of_the_attempt_before(harbor: Harbor) -> None:
    _, stats, trials = harbor.staged()
    assert trials["flaky"]["verifier_result"]["rewards"]["reward"] == 1.0
    assert stats["n_retries"] == 1
    folders = [path.name for path in (harbor.folder / "on-stage/staged").glob("flaky__*")]
    assert len(folders) == 1
    assert "Connection reset by peer" not in json.dumps(trials["flaky"])


@pytest.mark.peers
def test_h5_harbor_counts_it_as_zero_and_ends_well(harbor: Harbor) -> None:
    code, stats, trials = harbor.staged()
    assert trials["evicted"]["verifier_result"] is None
    (metrics,) = (one["metrics"] for one in stats["evals"].values())
    assert metrics[0]["mean"] == 2 / 4  # of early, flaky, evicted, solved
    assert code == 0


@pytest.mark.peers
def test_h6_harbor_killed_leaves_what_it_ran(harbor: Harbor) -> None:
    harbor.await_trial("killed")
    harbor.await_trial("outlives")
    assert harbor.orphans()
    harbor.in_docker.kill()
    harbor.in_docker.wait(20)
    assert harbor.orphans()
