"""Pods for tests: every runtime through the same fixtures, so that one suite holds them all."""

import hashlib
import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NoReturn

import docker as engine
import pytest
from docker.errors import DockerException
from kube_api import FakeApi
from kube_kubelet import DockerKubelet

from infranoise.models.limits import Limits
from infranoise.workers.outlet.outlets import Outlets
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import Pod, PodOrder, Pods
from infranoise.workers.pods.process.pods import ProcessPods

pytest.register_assert_rewrite("pod_contract")
BASE_IMAGE = "python:3.12-slim"
DOCKERFILE = f"FROM {BASE_IMAGE}\nWORKDIR /app\nENV GREETING=hello\nCOPY words.txt data/ /app/\n"
LIFETIME_S = 600.0
GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
KUBECONFIG = "INFRANOISE_TEST_KUBECONFIG"
KUBELET_DECIDES = "who dies at the ceiling is the kubelet's to decide: it is read back and told"
NO_DISK_USE = "the API tells no disk use; the kubelet's eviction does, and is tested"
CANNOT = {  # what a runtime says of itself that it cannot do
    "kubernetes": {
        "test_with_pod_scope_one_kill_ends_them_all": KUBELET_DECIDES,
        "test_with_pod_scope_files_can_still_be_fetched_after_the_end": KUBELET_DECIDES,
        "test_limits_are_read_back_as_they_were_asked": "process limits are the kubelet's; "
        "what differs is told, see tests/workers/kube",
        "test_a_fork_bomb_is_held_by_the_pids_limit_and_killed": "process limits are the kubelet's",
        "test_anonymous_memory_is_told_apart_from_files_in_cache": "no peak of it in the cgroup",
        "test_filling_the_disk_ends_at_the_storage_ceiling": NO_DISK_USE,
        "test_what_was_written_too_quickly_to_be_stopped_is_still_told": NO_DISK_USE,
        "test_what_fits_below_the_storage_ceiling_does_not_exceed_it": NO_DISK_USE,
        "test_without_network_there_is_no_way_out_but_loopback_works": "refused: a NetworkPolicy "
        "may do nothing",
    }
}

OUTSIDE = {"site.test": ("127.0.0.1",), "other.test": ("127.0.0.1",), "gone.test": ("127.0.0.9",)}
"""Names with an address of the node's own choice, which pods with an outlet may be let reach."""

Missing = Callable[[str], NoReturn]
MakeOrder = Callable[..., PodOrder]
OpenPod = Callable[..., Pod]


def process_pods(state: Path, missing: Missing) -> ProcessPods:
    """Process pods of this machine, with a kernel that enforces."""
    pods = ProcessPods(state, outlets=Outlets(OUTSIDE))
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
    return DockerPods(locks=locks, outlets=Outlets(OUTSIDE))


MARKS = {
    "process": pytest.mark.cgroup,
    "docker": pytest.mark.docker,
    "kubernetes": pytest.mark.docker,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a file the runtimes that it names in `RUNTIMES`; all, where it names none."""
    if "pods" in metafunc.fixturenames and not hasattr(metafunc.module, "pods"):
        wanted = getattr(metafunc.module, "RUNTIMES", tuple(MARKS))
        params = [pytest.param(name, marks=MARKS[name]) for name in wanted]
        metafunc.parametrize("pods", params, indirect=True, scope="session")


@pytest.fixture(scope="session")
def pods(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, missing: Missing
) -> Iterator[Pods]:
    """One object of each runtime, as a worker has it."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "docker":
        containers = docker_pods(folder, missing)
        yield containers
        containers.close()
        return
    if request.param == "kubernetes":
        environment = request.getfixturevalue("environment")
        with kubernetes_pods(folder, missing, environment) as in_a_cluster:
            yield in_a_cluster
        return
    made = process_pods(folder, missing)
    yield made
    made.close()


@contextmanager
def kubernetes_pods(folder: Path, missing: Missing, environment: Path) -> Iterator[KubernetesPods]:
    """Pods of the cluster that a variable names; else of a double of one, run by Docker."""
    image_hash = hashlib.sha256(DOCKERFILE.encode()).hexdigest()
    if kubeconfig := os.environ.get(KUBECONFIG):
        prefix = os.environ.get("INFRANOISE_IMAGE_PREFIX")
        if not prefix:
            pytest.fail(f"push infranoise/env:{image_hash} and set INFRANOISE_IMAGE_PREFIX to it")
        namespace = os.environ.get("INFRANOISE_KUBERNETES_NAMESPACE", "default")
        shape = Shape(namespace=namespace, image_prefix=prefix)
        real = KubernetesPods(shape, kubeconfig=kubeconfig)
        yield real
        real.close()
        return
    builder = docker_pods(folder, missing)
    builder.prepare(
        PodOrder("image", "contract", "trial", environment, image_hash, Limits(), time.time())
    )
    api = FakeApi()
    with api.running():
        api.store.create("namespaces", "", {"metadata": {"name": "trials"}})
        node = json.loads((GOLDEN / "node.json").read_text())
        kubelet = DockerKubelet(api, node)
        (folder / "kubeconfig").write_text(json.dumps(api.kubeconfig()))
        pods = KubernetesPods(
            Shape(namespace="trials", image_prefix="infranoise/env"),
            kubeconfig=str(folder / "kubeconfig"),
        )
        yield pods
        pods.close()
        kubelet.close()


@pytest.fixture(autouse=True)
def _within_its_power(request: pytest.FixtureRequest) -> None:
    """Skip what a runtime says of itself that it cannot do; on a real cluster also what needs to
    see the pods' processes from here."""
    callspec = getattr(request.node, "callspec", None)
    runtime = callspec.params.get("pods", "") if callspec else ""
    name = getattr(request.node, "originalname", "")
    if reason := CANNOT.get(runtime, {}).get(name):
        pytest.skip(f"{runtime}: {reason}")
    if runtime == "kubernetes" and KUBECONFIG in os.environ and "sleepers" in request.fixturenames:
        pytest.skip("a real cluster's processes cannot be seen from here")


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
