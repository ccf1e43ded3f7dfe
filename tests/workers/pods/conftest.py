"""Pods for tests: every runtime through the same fixtures, so that one suite holds them all."""

import hashlib
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn

import docker as engine
import pytest
from docker.errors import DockerException

from infranoise.models.limits import Limits
from infranoise.workers.pods.docker import DockerPods
from infranoise.workers.pods.pod import Pod, PodOrder, Pods
from infranoise.workers.pods.process import ProcessPods

BASE_IMAGE = "python:3.12-slim"
DOCKERFILE = f"FROM {BASE_IMAGE}\nWORKDIR /app\nENV GREETING=hello\nCOPY words.txt data/ /app/\n"
LIFETIME_S = 600.0

Missing = Callable[[str], NoReturn]
MakeOrder = Callable[..., PodOrder]
OpenPod = Callable[..., Pod]


def process_pods(state: Path, missing: Missing) -> ProcessPods:
    """Process pods of this machine, with a kernel that enforces."""
    pods = ProcessPods(state)
    facts = pods.facts()
    if facts["enforcement"] == "watchdog" or not facts["namespaces"]:
        missing(f"a memory cgroup or a user namespace ({facts['no_namespaces_because']})")
    return pods


def docker_pods(locks: Path, missing: Missing) -> DockerPods:
    """Pods of the local Docker engine."""
    try:
        client = engine.from_env()
        client.images.get(BASE_IMAGE)
        client.close()
    except DockerException as problem:
        missing(f"a Docker engine with {BASE_IMAGE} ({problem})")
    return DockerPods(locks=locks)


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("process", marks=pytest.mark.cgroup),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def pods(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, missing: Missing
) -> Iterator[Pods]:
    """One object of each runtime, as a worker has it."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "docker":
        yield docker_pods(folder, missing)
        return
    made = process_pods(folder, missing)
    yield made
    made.close()


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of a plain task."""
    folder = tmp_path_factory.mktemp("task") / "environment"
    (folder / "data" / "deep").mkdir(parents=True)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    (folder / "words.txt").write_text("plain words\n")
    (folder / "data" / "deep" / "number.txt").write_text("42\n")
    return folder


@pytest.fixture(scope="session")
def make_order(environment: Path) -> MakeOrder:
    """Orders for that environment; keywords are the order's, or its limits'."""

    def make(**wanted: object) -> PodOrder:
        limits = {name: wanted.pop(name) for name in list(wanted) if name in Limits.model_fields}
        values: dict[str, object] = {
            "attempt_id": f"contract-{uuid.uuid4().hex[:12]}",
            "experiment": "contract",
            "trial": "trial",
            "environment": environment,
            "environment_hash": hashlib.sha256(DOCKERFILE.encode()).hexdigest(),
            "expires_at": time.time() + LIFETIME_S,
            "limits": Limits.model_validate(limits),
        }
        return PodOrder(**(values | wanted))  # type: ignore[arg-type]

    return make


@pytest.fixture
def open_pod(pods: Pods, make_order: MakeOrder) -> Iterator[OpenPod]:
    """Starts a pod of the runtime under test; stopped when the test ends."""
    with ExitStack() as stack:

        def open_one(**wanted: object) -> Pod:
            order = make_order(**wanted)
            pods.prepare(order)
            return stack.enter_context(pods.pod(order))

        yield open_one


@pytest.fixture(scope="module")
def shared_pod(pods: Pods, make_order: MakeOrder) -> Iterator[Pod]:
    """One running pod with generous limits for all tests of a file that leave it as it was."""
    order = make_order(memory_ceiling_bytes=256 << 20, pids=256)
    pods.prepare(order)
    with pods.pod(order) as pod:
        yield pod


@pytest.fixture
def pod(shared_pod: Pod) -> Iterator[Pod]:
    """That pod, with nothing running in it before and after a test."""
    yield shared_pod
    shared_pod.quiesce()
