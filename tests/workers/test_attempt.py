"""Attempts for real: a task of a few lines, a pod under limits, and what its end is judged to be.

Every combination of exit code, kill counter, phase and reward that has been seen on public tasks is
made here by the kernel, on every runtime.
"""

import contextlib
import os
import signal
import sys
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import docker
import docker.errors
import pytest

from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.outcome import Outcome
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.workers.artefacts import Artefacts
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.harness.agent import Assignment, Tried
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.outlet.outlets import Outlets
from infranoise.workers.pods.pod import Pod, Pods
from infranoise.workers.runtimes import Runtimes
from infranoise.workers.settings import worker_settings
from infranoise.workers.slots import Slots

MIB = 1 << 20
BASE = "debian:bookworm-slim"
HOG = "python3 -c 'x = b\"y\" * (200 << 20)'"  # 200 MiB, every page touched
PASS, FAIL = "echo 1 > /logs/verifier/reward.txt", "echo 0 > /logs/verifier/reward.txt"
JUDGE = "if [ -f /app/answer ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"


@dataclass(frozen=True)
class Story:
    """What the agent and the verifier do, under which limits, and what must be made of it."""

    agent: str = ":"
    verifier: str = JUDGE
    verdict: str = "passed"
    cause: str = ""
    oom: str | None = None
    limits: dict[str, object] = field(default_factory=lambda: {"memory_ceiling_bytes": 64 * MIB})
    agent_timeout_s: float = 20.0
    keep_services: bool = False
    verifier_timeout_s: float = 20.0
    home_ahead_s: float = 0.0
    network: str = "none"


STORIES = {
    "solved": Story("touch answer"),
    "not solved": Story(":", verdict="failed", cause="wrong"),
    "a partial reward": Story(
        ":", "echo 0.5 > /logs/verifier/reward.txt", verdict="failed", cause="wrong"
    ),
    "test.sh exits 1 after a pass": Story("touch answer", f"{PASS}; exit 1"),
    "an agent that ends with an error": Story("exit 3", verdict="failed", cause="agent_error"),
    "rc 137, kill 1: the agent itself": Story(
        f"exec {HOG}", verdict="infra_error", cause="oom_killed", oom="main"
    ),
    "rc 0, kill 1, reward 0: a child, unnoticed": Story(
        f"{HOG}; true", verdict="infra_error", cause="oom_killed", oom="collateral"
    ),
    "rc 0, kill 1, reward 1: a child, and the parent recovers": Story(
        f"{HOG} || touch answer", oom="recovered"
    ),
    "rc 126, kill 1": Story(
        f"{HOG}; exit 126", verdict="infra_error", cause="oom_killed", oom="collateral"
    ),
    "rc 1, kill 2": Story(
        f"{HOG}; {HOG}; exit 1", verdict="infra_error", cause="oom_killed", oom="collateral"
    ),
    "time-out, kill 1": Story(
        f"{HOG}; sleep 60",
        verdict="infra_error",
        cause="oom_killed",
        oom="collateral",
        agent_timeout_s=3,
    ),
    "time-out": Story("sleep 60", verdict="failed", cause="agent_timeout", agent_timeout_s=0.5),
    "agent clean, verifier kill, reward 0": Story(
        "touch answer",
        f"{HOG} && {PASS} || {FAIL}",
        verdict="infra_error",
        cause="verifier_error",
        oom="verifier",
    ),
    "the verifier itself is killed": Story(
        "touch answer",
        f"exec {HOG}",
        verdict="infra_error",
        cause="verifier_error",
        oom="verifier",
    ),
    "a plain kill -9 of the agent is no OOM": Story(
        "kill -9 $$", verdict="failed", cause="agent_error"
    ),
    "a plain kill -9 of the verifier is no verdict": Story(
        "touch answer", "kill -9 $$", verdict="infra_error", cause="verifier_error"
    ),
    "the verifier does not end": Story(
        "touch answer",
        "sleep 60",
        verdict="infra_error",
        cause="verifier_error",
        verifier_timeout_s=0.5,
    ),
    "the verifier leaves no reward": Story(
        "touch answer", ":", verdict="infra_error", cause="verifier_error"
    ),
    "an agent that writes its own reward": Story(
        f"mkdir -p /logs/verifier; {PASS}", ":", verdict="infra_error", cause="verifier_error"
    ),
    "pod scope: a child's kill ends the agent": Story(
        f"{HOG} || touch answer",
        verdict="infra_error",
        cause="oom_killed",
        oom="main",
        limits={"memory_ceiling_bytes": 64 * MIB, "oom_scope": "pod"},
    ),
    "the disk is filled to its ceiling": Story(
        "head -c 100M /dev/zero > fill; sleep 20",
        verdict="infra_error",
        cause="disk_full",
        limits={"storage_ceiling_bytes": 32 * MIB},
    ),
}


@pytest.fixture(scope="session", params=["process", "docker"])
def pods(
    request: pytest.FixtureRequest,
    missing: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pods]:
    """Each runtime that is here."""
    state = tmp_path_factory.mktemp("state")
    if request.param == "docker":
        _image_or(missing)
    runtime = Runtimes(worker_settings({"INFRANOISE_STATE": str(state)})).named(request.param)
    yield runtime
    runtime.close()


def _image_or(missing: Callable[[str], NoReturn]) -> None:
    try:
        with contextlib.closing(docker.APIClient(version="auto")) as client:
            client.inspect_image(BASE)
    except docker.errors.DockerException as error:
        missing(f"a Docker engine with the image {BASE} (deploy/base-image.sh makes one): {error}")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node("here", Bearings(), Slots(1), {}, Artefacts(tmp_path / "artefacts"))


Attempt = Callable[..., AttemptRecord]
Patch = pytest.MonkeyPatch


@pytest.fixture
def attempt(pods: Pods, node: Node, tmp_path_factory: pytest.TempPathFactory) -> Attempt:
    """Run one attempt of a task made of these scripts."""

    def run(story: Story, entry: Entry | None = None, **files: str) -> AttemptRecord:
        folder = tmp_path_factory.mktemp("task")
        texts = {
            "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
            "instruction.md": "Solve it.\n",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
            "tests/test.sh": story.verifier + "\n",
            "solution/solve.sh": story.agent + "\n",
            **files,
        }
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(textwrap.dedent(text))
        return run_attempt(_message(folder, story, entry, pods.name), pods, node)

    return run


def _message(folder: Path, story: Story, entry: Entry | None, runtime: str) -> AttemptMessage:
    entry = entry or Entry(agent="oracle")
    now = time.time() + story.home_ahead_s
    task = load_task(folder)
    return AttemptMessage(
        attempt_id=f"{folder.name}-{now:.6f}.1",
        trial_id=folder.name,
        experiment="tests",
        key=TrialKey(cell=CellKey(task=task.name, entry=entry.name, band="b"), sample=0),
        number=1,
        task=task,
        entry=entry,
        limits=Limits.model_validate(story.limits),
        runtime=runtime,
        network=story.network,
        agent_timeout_s=story.agent_timeout_s,
        verifier_timeout_s=story.verifier_timeout_s,
        build_timeout_s=60,
        keep_services=story.keep_services,
        seed=1,
        queued_at=now,
        placed_at=now,
        deadline_at=now + 300,
    )


def outcome_of(record: AttemptRecord) -> Outcome:
    return classify(record.evidence)


@pytest.mark.parametrize("name", STORIES)
def test_a_story_ends_as_the_evidence_says(name: str, attempt: Attempt) -> None:
    story = STORIES[name]
    outcome = outcome_of(attempt(story))
    assert (outcome.verdict, outcome.cause, outcome.oom) == (
        story.verdict,
        story.cause,
        story.oom,
    ), outcome


@pytest.mark.parametrize("home_ahead_s", [-3600, 3600])
def test_the_clock_of_home_decides_nothing_on_a_node(attempt: Attempt, home_ahead_s: float) -> None:
    record = attempt(Story("touch answer", home_ahead_s=home_ahead_s))
    assert not record.evidence.deadline_exceeded
    assert outcome_of(record).verdict == "passed"


def test_kills_are_counted_in_the_phase_in_which_they_fell(attempt: Attempt) -> None:
    record = attempt(Story(f"{HOG}; {HOG}; touch answer", f"{HOG}; {PASS}"))
    kills = {phase.name: phase.oom_kills for phase in record.evidence.phases}
    assert kills == {"setup": 0, "agent": 2, "verifier": 1}


def test_nothing_of_the_agent_lives_when_the_verifier_starts(attempt: Attempt) -> None:
    late = "(sleep 2; touch /app/answer) & (setsid sh -c 'sleep 2; touch /app/answer' &)"
    story = Story(f"{late}; sleep 60", f"sleep 3; {JUDGE}", agent_timeout_s=0.5)
    record = attempt(story)
    agent = record.evidence.phase("agent")
    assert agent is not None
    assert agent.timed_out
    assert outcome_of(record).cause == "agent_timeout"


def test_what_an_agent_leaves_running_is_counted_and_stopped(attempt: Attempt) -> None:
    record = attempt(Story("sleep 60 & sleep 60 & touch answer"))
    agent = record.evidence.phase("agent")
    assert agent is not None
    assert agent.left_behind == 2
    assert outcome_of(record).verdict == "passed"


SERVICE = "(sleep 60; touch /app/late) & echo $! > /app/pid"
ALIVE = "kill -0 $(cat /app/pid); echo $((1 - $?)) > /logs/verifier/reward.txt"


@pytest.mark.parametrize(("keep", "verdict"), [(True, "passed"), (False, "failed")])
def test_a_service_that_is_the_answer_lives_on_only_where_asked(
    keep: bool, verdict: str, attempt: Attempt
) -> None:
    assert outcome_of(attempt(Story(SERVICE, ALIVE, keep_services=keep))).verdict == verdict


def test_an_agent_out_of_time_is_stopped_even_where_services_are_kept(attempt: Attempt) -> None:
    story = Story(f"{SERVICE}; sleep 60", ALIVE, keep_services=True, agent_timeout_s=0.5)
    assert outcome_of(attempt(story)).cause == "agent_timeout"


def test_a_pod_that_cannot_start_says_why(attempt: Attempt) -> None:
    record = attempt(
        Story(), **{"environment/Dockerfile": "FROM debian:bookworm-slim\nRUN exit 7\n"}
    )
    outcome = outcome_of(record)
    assert outcome.verdict == "infra_error"
    assert outcome.cause in ("start_failed", "image_build")
    assert outcome.detail
    assert record.evidence.phases == ()


def test_a_variable_that_the_node_does_not_set_is_a_set_up_error(attempt: Attempt) -> None:
    task = 'version = "1.0"\n[environment]\nmemory_mb = 64\n[environment.env]\nKEY = "${NOWHERE}"\n'
    outcome = outcome_of(attempt(Story(), **{"task.toml": task}))
    assert (outcome.verdict, outcome.cause) == ("infra_error", "start_failed")
    assert "NOWHERE" in outcome.detail


def test_the_no_op_does_nothing_and_is_no_agent_error(attempt: Attempt) -> None:
    outcome = outcome_of(attempt(Story(), Entry(agent="nop")))
    assert (outcome.verdict, outcome.cause) == ("failed", "no_answer")


def test_a_command_finds_instruction_model_and_seed(attempt: Attempt) -> None:
    script = (
        'grep -q Solve "$INFRANOISE_INSTRUCTION" && [ "$INFRANOISE_MODEL" = m-1 ] '
        '&& [ "$INFRANOISE_SEED" = 1 ] && [ "$INFRANOISE_SAMPLE" = 0 ] && [ "$MINE" = yes ] '
        "&& touch answer"
    )
    entry = Entry(agent="command", model="m-1", command=("sh", "-c", script), env={"MINE": "yes"})
    assert outcome_of(attempt(Story(), entry)).verdict == "passed"


def test_an_agent_that_does_not_exist_is_a_fault_with_a_remedy(attempt: Attempt) -> None:
    outcome = outcome_of(attempt(Story(), Entry(agent="nowhere:Agent")))
    assert outcome.verdict == "infra_error"
    assert "PYTHONPATH" in outcome.detail


class Broken:
    """An agent of a user's whose code is wrong."""

    def __init__(self, where: str) -> None:
        self.where = where

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        if self.where == "setup":
            raise KeyError("key")

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        raise KeyError("key")


@pytest.mark.parametrize("where", ["setup", "run"])
def test_a_bug_of_an_agent_is_the_agents(where: str, attempt: Attempt, monkeypatch: Patch) -> None:
    module = types.ModuleType("users_agents")
    module.Broken = Broken  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "users_agents", module)
    record = attempt(Story(), Entry(agent="users_agents:Broken", options={"where": where}))
    outcome = outcome_of(record)
    assert (outcome.verdict, outcome.cause) == ("failed", "agent_error")
    assert outcome.detail == "KeyError: 'key'"


class CutOff:
    """An agent under which the process that carries what its pod sends out dies."""

    def setup(self, pod: Pod, assignment: Assignment) -> None:
        """Nothing is needed."""

    def run(self, pod: Pod, assignment: Assignment, timeout_s: float | None) -> Tried:
        pid = outlets_of(pod).pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return Tried(pod.exec(["true"]))


def outlets_of(pod: Pod) -> Outlets:
    """What carries for a pod, of either runtime."""
    way = pod._way  # type: ignore[attr-defined]
    ways = way._ways.outlets if hasattr(way, "_ways") else way._outlets
    assert isinstance(ways, Outlets)
    return ways


@pytest.mark.links
def test_a_way_out_that_breaks_is_an_infra_error_and_one_that_refuses_is_none(
    attempt: Attempt, monkeypatch: Patch, missing: Callable[[str], NoReturn]
) -> None:
    if why := why_no_outlets():
        missing(why)
    asks = "bash -c ': < /dev/tcp/evil.test/80; : < /dev/tcp/192.0.2.1/80'"
    refused = attempt(Story(asks, network="gateway"))
    assert (outcome_of(refused).verdict, outcome_of(refused).cause) == ("failed", "agent_error")
    assert refused.evidence.egress is not None
    assert refused.evidence.egress.refusals == 2
    module = types.ModuleType("users_agents")
    module.CutOff = CutOff  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "users_agents", module)
    entry = Entry(agent="users_agents:CutOff")
    broken = attempt(Story(network="gateway"), entry)
    assert (outcome_of(broken).verdict, outcome_of(broken).cause) == ("infra_error", "network")
    assert broken.evidence.egress is not None
    assert "died" in outcome_of(broken).detail


@pytest.mark.links
def test_a_task_with_an_allow_list_of_its_own_gets_that_also_where_all_is_public(
    attempt: Attempt, missing: Callable[[str], NoReturn]
) -> None:
    if why := why_no_outlets():
        missing(why)
    task = (
        'version = "1.0"\n[environment]\nmemory_mb = 64\nnetwork_mode = "allowlist"\n'
        'allowed_hosts = ["site.test"]\n'
    )
    story = Story("touch answer; bash -c ': < /dev/tcp/192.0.2.1/80'; true", network="public")
    record = attempt(story, **{"task.toml": task})
    assert outcome_of(record).verdict == "passed"
    assert (record.conditions.network, record.conditions.allow) == ("gateway", ("site.test",))
    assert record.evidence.egress is not None
    assert [one.to for one in record.evidence.egress.refused] == ["192.0.2.1"]


def test_what_surrounded_an_attempt_is_on_its_record(attempt: Attempt) -> None:
    record = attempt(Story("touch answer"))
    assert record.conditions.requested.memory_ceiling_bytes == 64 * MIB
    assert record.conditions.effective is not None
    assert record.conditions.effective.memory_ceiling_bytes == 64 * MIB
    assert record.conditions.effective.differs == ()
    assert record.conditions.load_start is not None
    assert record.evidence.enforcement
    assert record.usage.counters is not None
    assert record.usage.counters.memory_peak_bytes
    assert record.clocks.ended_at >= record.clocks.received_at
    assert record.image_id


def test_output_is_kept_bounded_and_by_content(attempt: Attempt, node: Node) -> None:
    record = attempt(Story("yes | head -c 6000000; echo the end; touch answer"))
    assert record.logs.agent.truncated
    assert record.logs.agent.total_bytes == 6_000_008
    assert record.logs.agent.tail.endswith("the end\n")
    (kept,) = [a for a in record.artefacts if a.name.endswith("agent.stdout")]
    assert kept.size_bytes == 4 * MIB
    assert node.artefacts is not None
    assert (node.artefacts.folder / kept.name).stat().st_size == kept.size_bytes


def test_a_record_survives_the_wire(attempt: Attempt) -> None:
    record = attempt(Story("printf '\\377\\033[31m<b>'; touch answer"))
    assert AttemptRecord.decode(record.encode()) == record
