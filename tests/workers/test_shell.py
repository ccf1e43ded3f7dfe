"""The `shell` agent for real: a scripted provider, the gateway, a pod; and what each fault of the
API is judged to be, in verdict, cause and clock.
"""

import contextlib
import json
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import docker
import docker.errors
import pytest
from model_provider import KEY, Provider, Turn, model_provider
from own_gateway import OwnGateway, claims, own_gateway

from infranoise.models.api_access import ApiAccess
from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.provider import Dialect
from infranoise.models.provider import Provider as Declared
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.scheduler.broker import embedded
from infranoise.workers.artefacts import Artefacts
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.harness.shell import TRAJECTORY
from infranoise.workers.pods.pod import Pods
from infranoise.workers.runtimes import Runtimes
from infranoise.workers.settings import worker_settings
from infranoise.workers.slots import Slots

BASE = "debian:bookworm-slim"
SOLVE, DONE = Turn(tool="echo 42 > answer"), Turn("done")
JUDGE = "if [ -f /app/answer ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"
DIALECTS: tuple[Dialect, ...] = ("anthropic", "openai")


@pytest.fixture(scope="module")
def maker() -> Iterator[Provider]:
    with model_provider() as provider:
        yield provider


@pytest.fixture(scope="module")
def running(maker: Provider) -> Iterator[OwnGateway]:
    providers = {
        "anthropic": Declared(dialect="anthropic", base_url=maker.url, key="env:MAKER_KEY"),
        "openai": Declared(dialect="openai", base_url=f"{maker.url}/v1", key="env:MAKER_KEY"),
    }
    with (
        embedded() as broker,
        own_gateway(broker, providers, {"MAKER_KEY": KEY}) as gateway,
    ):
        yield gateway


@pytest.fixture(scope="module", params=["process", "docker"])
def pods(
    request: pytest.FixtureRequest,
    missing: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pods]:
    if request.param == "docker":
        try:
            with contextlib.closing(docker.APIClient(version="auto")) as client:
                client.inspect_image(BASE)
        except docker.errors.DockerException as error:
            missing(f"a Docker engine with the image {BASE}: {error}")
    yield from _pods(request.param, tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def process_pods(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pods]:
    yield from _pods("process", tmp_path_factory.mktemp("state"))


def _pods(name: str, state: Path) -> Iterator[Pods]:
    runtime = Runtimes(worker_settings({"INFRANOISE_STATE": str(state)})).named(name)
    yield runtime
    runtime.close()


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt: who tries, in which dialect, bound by what."""

    dialect: Dialect = "anthropic"
    entry: Entry = field(
        default_factory=lambda: Entry(agent="shell", model="m", options={"max_retries": 0})
    )
    agent_timeout_s: float = 20.0
    api_wait: str = "counts"
    longest_api_wait_s: float = 60.0
    allowance: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ended:
    """What an attempt left."""

    record: AttemptRecord
    folder: Path

    @property
    def outcome(self) -> tuple[str, str]:
        found = classify(self.record.evidence)
        return found.verdict, found.cause

    @property
    def detail(self) -> str:
        return classify(self.record.evidence).detail

    @property
    def trajectory(self) -> list[dict[str, Any]]:
        name = f"{self.record.attempt_id}/{TRAJECTORY}"
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


@pytest.fixture
def attempt(running: OwnGateway, maker: Provider, tmp_path: Path) -> Callable[[Trial, Pods], Ended]:
    """Run one attempt of a small task."""
    running.client.flushall()
    maker.requests.clear()
    maker.headers.clear()
    folder = tmp_path / "task"
    for name, text in {
        "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
        "instruction.md": "Write the answer.\n",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
        "tests/test.sh": JUDGE + "\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(text))

    def run(trial: Trial, pods: Pods) -> Ended:
        now, task, id_ = time.time(), load_task(folder), f"t{time.time_ns()}.1"
        running.lease(id_, fence=7)
        of = {"provider": trial.dialect, "dialect": trial.dialect, "allowance": trial.allowance}
        api = ApiAccess(
            url=running.url,
            token=running.seal.mint(claims(id_, 7, **of)),
            dialect=trial.dialect,
            model="m",
            api_wait=trial.api_wait,
            longest_api_wait_s=trial.longest_api_wait_s,
        )
        message = AttemptMessage(
            attempt_id=id_,
            trial_id=id_[:-2],
            experiment="tests",
            key=TrialKey(cell=CellKey(task=task.name, entry=trial.entry.name, band="b"), sample=0),
            number=1,
            fence=7,
            task=task,
            entry=trial.entry,
            limits=Limits(memory_ceiling_bytes=64 << 20),
            runtime=pods.name,
            network="public",
            agent_timeout_s=trial.agent_timeout_s,
            verifier_timeout_s=20,
            build_timeout_s=60,
            seed=1,
            queued_at=now,
            placed_at=now,
            deadline_at=now + 300,
            api=api,
        )
        node = Node("here", Bearings(), Slots(1), {}, Artefacts(tmp_path / "kept"))
        return Ended(run_attempt(message, pods, node), tmp_path / "kept")

    return run


Attempt = Callable[[Trial, Pods], Ended]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_solves_a_task_in_a_pod(
    attempt: Attempt, maker: Provider, pods: Pods, dialect: Dialect
) -> None:
    maker.plays(Turn(tool="pwd; nosuchcommand"), SOLVE, DONE)
    ended = attempt(Trial(dialect), pods)
    assert ended.outcome == ("passed", "")
    events = [line["event"] for line in ended.trajectory]
    assert events == ["began", "said", "ran", "said", "ran", "said", "ended"]
    first = ended.trajectory[2]
    assert first["exit_code"] == 127
    assert first["shown"].startswith("[exit code 127]\n/app\n")
    assert "Write the answer." in str(maker.requests[0]["messages"])
    assert "/app" in str(maker.requests[1]["messages"][-1])
    use, usage = ended.record.evidence.api, ended.record.usage
    assert use is not None
    assert (use.calls, use.failed) == (3, 0)
    assert (usage.api_calls, usage.input_tokens, usage.output_tokens) == (3, 30, 15)
    assert ended.record.clocks.api_wait_s is not None
    assert 0 < ended.record.clocks.api_wait_s < (ended.record.clocks.agent_s or 0)


@dataclass(frozen=True, slots=True)
class Fault:
    """A script, the trial that meets it, and what must be made of it."""

    turns: tuple[Turn, ...]
    outcome: tuple[str, str]
    says: str = ""
    trial: Trial = Trial()
    waits_s: float = 0.0


MODEL_API = ("infra_error", "model_api")
PATIENT = Entry(agent="shell", model="m", options={"max_retries": 2})
FAULTS = {
    "latency that the time limit holds": Fault(
        (Turn(tool="echo 42 > answer", first_byte_s=0.3), DONE), ("passed", ""), waits_s=0.3
    ),
    "latency that takes the agent's time": Fault(
        (Turn(tool="sleep 0.1", first_byte_s=0.4),),
        ("failed", "agent_timeout"),
        trial=Trial(agent_timeout_s=1.3),
        waits_s=0.8,
    ),
    "the same, where waiting is left out": Fault(
        (*(Turn(tool="true", first_byte_s=0.4),) * 3, SOLVE, DONE),
        ("passed", ""),
        trial=Trial(agent_timeout_s=1.3, api_wait="excluded"),
        waits_s=1.2,
    ),
    "waiting is left out only so far": Fault(
        (Turn(tool="true", first_byte_s=0.4),),
        ("failed", "agent_timeout"),
        trial=Trial(agent_timeout_s=1.0, api_wait="excluded", longest_api_wait_s=0.5),
        waits_s=0.8,
    ),
    "no first byte until time is over": Fault(
        (Turn(tool="true"), Turn(hang=True)),
        MODEL_API,
        "unanswered for",
        Trial(agent_timeout_s=1.5),
        waits_s=1.0,
    ),
    "429": Fault((Turn(status=429),), MODEL_API, "HTTP 429"),
    "429 and then an answer": Fault(
        (Turn(status=429, headers={"retry-after": "0"}), SOLVE, DONE),
        ("passed", ""),
        trial=Trial(entry=PATIENT),
    ),
    "529": Fault((Turn(tool="true"), Turn(status=529)), MODEL_API, "HTTP 529"),
    "500": Fault((Turn(status=500),), MODEL_API, "HTTP 500"),
    "an API that fails when all is solved": Fault((SOLVE, Turn(status=500)), ("passed", "")),
    "a cut stream": Fault((Turn(cut_after=2),), MODEL_API, "cut"),
    "a cut stream and then a whole one": Fault(
        (Turn(cut_after=2), SOLVE, DONE), ("passed", ""), trial=Trial(entry=PATIENT)
    ),
    "an event that is no JSON": Fault((Turn(malformed=True),), MODEL_API),
    "a key that the provider refuses": Fault((Turn(status=401),), MODEL_API, "HTTP 401"),
    "a request that the provider refuses": Fault((Turn(status=400),), ("failed", "agent_error")),
    "an allowance that is used up": Fault(
        (Turn(tool="true"),), ("failed", "wrong"), trial=Trial(allowance={"calls": 2})
    ),
    "a model that does nothing": Fault((DONE,), ("failed", "no_answer")),
}


# What the SDKs themselves make of it is tried with both.
IN_BOTH = ("429", "529", "a cut stream", "a cut stream and then a whole one",
           "an event that is no JSON", "a request that the provider refuses",
           "an allowance that is used up")  # fmt: skip
TOLD = [(name, "anthropic") for name in FAULTS] + [(name, "openai") for name in IN_BOTH]


@pytest.mark.parametrize(("name", "dialect"), TOLD)
def test_a_fault_of_the_api_ends_in_its_verdict_cause_and_clock(
    attempt: Attempt, maker: Provider, process_pods: Pods, name: str, dialect: Dialect
) -> None:
    fault = FAULTS[name]
    maker.plays(*fault.turns)
    ended = attempt(_as(fault.trial, dialect), process_pods)
    assert ended.outcome == fault.outcome, ended.detail
    assert fault.says in ended.detail
    assert (ended.record.clocks.api_wait_s or 0.0) >= fault.waits_s
    assert ended.trajectory[-1]["event"] == "ended"


def _as(trial: Trial, dialect: Dialect) -> Trial:
    names = ("entry", "agent_timeout_s", "api_wait", "longest_api_wait_s", "allowance")
    return Trial(dialect, **{name: getattr(trial, name) for name in names})


def test_what_runs_in_the_pod_never_sees_the_token(
    attempt: Attempt, maker: Provider, process_pods: Pods
) -> None:
    maker.plays(Turn(tool="env; cat /proc/*/environ /proc/*/cmdline"), SOLVE, DONE)
    ended = attempt(Trial(), process_pods)
    shown = next(line["shown"] for line in ended.trajectory if line["event"] == "ran")
    assert "INFRANOISE_SEED" in shown
    assert "inr1." not in shown
    assert KEY not in shown


WAITER = """
import json, os, time, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"]}
for _ in range(3):
    body = json.dumps({"model": "m", "max_tokens": 9, "messages": []}).encode()
    urllib.request.urlopen(urllib.request.Request(url, body, headers)).read()
TAIL
open("/app/answer", "w")
"""


@pytest.mark.parametrize(
    ("tail", "api_wait", "outcome"),
    [
        ("", "excluded", ("passed", "")),
        ("", "counts", ("failed", "agent_timeout")),
        ("time.sleep(60)", "excluded", ("failed", "agent_timeout")),
    ],
)
def test_waiting_can_be_left_out_of_the_time_of_an_agent_in_the_pod(
    attempt: Attempt,
    maker: Provider,
    process_pods: Pods,
    tail: str,
    api_wait: str,
    outcome: tuple[str, str],
) -> None:
    maker.plays(Turn(first_byte_s=0.6))
    script = WAITER.replace("TAIL", tail)
    entry = Entry(agent="command", model="m", command=("python3", "-c", script))
    ended = attempt(Trial(entry=entry, agent_timeout_s=1.2, api_wait=api_wait), process_pods)
    assert ended.outcome == outcome, ended.record.logs
    waited_s = ended.record.clocks.api_wait_s
    assert waited_s is not None
    assert waited_s >= (1.8 if api_wait == "excluded" else 0.0)
