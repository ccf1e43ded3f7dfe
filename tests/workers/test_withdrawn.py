"""An attempt that is withdrawn while it runs says so, and is never called the model's failure."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

import pytest

from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.errors import PodError
from infranoise.models.evidence import Fault
from infranoise.models.execution import ExecResult
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.workers.attempt import Node, refused_attempt, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.leaving import withdraw
from infranoise.workers.pods.pod import Pod, PodOrder, Pods
from infranoise.workers.runtimes import Runtimes
from infranoise.workers.settings import worker_settings
from infranoise.workers.slots import Slots

WHY = Fault(cause="preempted", message="its node was told to leave")
FAIL = "echo 0 > /logs/verifier/reward.txt"
STORIES = {  # where the attempt is when it is withdrawn: what the agent and the verifier do
    "in the agent": ("sleep 60", FAIL),
    "in the verifier": (":", f"sleep 60 & wait; {FAIL}"),
    "in the verifier, which has its verdict": (":", f"{FAIL}; sleep 60"),
}


@pytest.fixture(scope="module", params=["process", "docker"])
def pods(
    request: pytest.FixtureRequest,
    missing: Callable[[str], NoReturn],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pods]:
    state = tmp_path_factory.mktemp("state")
    try:
        runtime = Runtimes(worker_settings({"INFRANOISE_STATE": str(state)})).named(request.param)
        runtime.facts()
    except PodError as error:
        missing(str(error))
    yield runtime
    runtime.close()


def message(folder: Path, agent: str, verifier: str, runtime: str) -> AttemptMessage:
    for name, text in {
        "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
        "tests/test.sh": verifier,
        "solution/solve.sh": agent,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    task, now = load_task(folder), time.time()
    return AttemptMessage(
        attempt_id=f"withdrawn-{now:.6f}.1",
        trial_id="t",
        experiment="tests",
        key=TrialKey(cell=CellKey(task=task.name, entry="oracle", band="b"), sample=0),
        number=1,
        task=task,
        entry=Entry(agent="oracle"),
        limits=Limits(),
        runtime=runtime,
        network="none",
        agent_timeout_s=120,
        verifier_timeout_s=120,
        build_timeout_s=120,
        seed=1,
        queued_at=now,
        placed_at=now,
        deadline_at=now + 300,
    )


class Told:
    """Pods that say when a script is begun in one of them."""

    def __init__(self, pods: Pods, script: str) -> None:
        self.begun, self._pods, self._script = threading.Event(), pods, script

    def pod(self, order: PodOrder) -> Pod:
        pod = self._pods.pod(order)
        exec_ = pod.exec

        def told(argv: Sequence[str], **more: Any) -> ExecResult:
            if any(self._script in word for word in argv):
                self.begun.set()
            return exec_(argv, **more)

        pod.exec = told  # type: ignore[method-assign]
        return pod

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pods, name)


@pytest.mark.parametrize("story", STORIES)
def test_a_withdrawn_attempt_is_an_infra_error_with_the_reason(
    story: str, pods: Pods, tmp_path: Path
) -> None:
    slots, ended = Slots(1), list[AttemptRecord]()
    order = message(tmp_path / "task", *STORIES[story], pods.name)
    told = Told(pods, "test.sh" if "verifier" in story else "solve.sh")
    node = Node("here", Bearings(), slots)
    thread = threading.Thread(
        target=lambda: ended.append(run_attempt(order, cast(Pods, told), node))
    )
    thread.start()
    assert told.begun.wait(60)
    while thread.is_alive():  # as the heartbeat does: again and again until it is gone
        withdraw(slots, order.attempt_id, WHY)
        thread.join(0.2)
    outcome = classify(ended[0].evidence)
    assert (outcome.verdict, outcome.cause, outcome.detail) == (
        "infra_error",
        "preempted",
        WHY.message,
    )
    assert slots.running() == ()


def test_an_attempt_that_is_not_under_way_is_not_withdrawn() -> None:
    slots = Slots(1)
    assert slots.withdraw("a", WHY) is None
    with slots.taken("a"):
        assert slots.withdrawn("a") is None


def test_an_attempt_without_pods_says_why(tmp_path: Path) -> None:
    order = message(tmp_path / "task", ":", ":", "docker")
    record = refused_attempt(
        order, PodError("no engine answers"), Node("here", Bearings(), Slots(1))
    )
    outcome = classify(record.evidence)
    assert (outcome.verdict, outcome.cause, outcome.detail) == (
        "infra_error",
        "unknown",
        "no engine answers",
    )
