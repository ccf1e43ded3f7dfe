"""Images: built or pulled once, and what is said when they cannot be."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest
from docker.errors import ImageNotFound

from infranoise.models.errors import ImageBuildFailed, ImagePullFailed
from infranoise.workers.pods.docker.image import environment_tag
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder

pytestmark = pytest.mark.docker

BASE = "debian:bookworm-slim"
NEVER = "127.0.0.1:9/no/such:image"  # nobody listens there
Order = Callable[..., PodOrder]
Environment = Callable[..., tuple[Path, str]]


def image_id(engine: docker.APIClient, name: str) -> str:
    return str(engine.inspect_image(name)["Id"])  # type: ignore[no-untyped-call]


def taggings(engine: docker.APIClient, order: PodOrder, since: float) -> int:
    """How often an image was given the name of an order's environment."""
    events = engine.events(
        since=int(since) - 1,
        until=int(time.time()) + 1,
        filters={"event": "tag", "type": "image"},
        decode=True,
    )
    name = environment_tag(order.environment_hash)
    return sum(event["Actor"]["Attributes"]["name"] == name for event in events)


def test_one_content_is_built_once_however_many_ask(
    engine: docker.APIClient,
    docker_pods: DockerPods,
    docker_order: Order,
    make_environment: Environment,
) -> None:
    order, since = docker_order(make_environment()), time.time()
    with ThreadPoolExecutor(4) as askers:
        ids = set(askers.map(docker_pods.prepare, [order] * 4))
    assert ids == {docker_pods.prepare(order)}
    assert ids == {image_id(engine, environment_tag(order.environment_hash))}
    assert taggings(engine, order, since) == 1


def test_the_context_honours_dockerignore(
    docker_pods: DockerPods, docker_order: Order, make_environment: Environment
) -> None:
    environment = make_environment(f"FROM {BASE}\nCOPY . /here\n", **{"a.txt": "", "b.log": ""})
    (environment[0] / ".dockerignore").write_text("*.log\n")
    order = docker_order(environment)
    docker_pods.prepare(order)
    with docker_pods.pod(order) as pod:
        assert pod.exec(["ls", "/here"]).stdout.tail.split() == ["Dockerfile", "a.txt"]


def test_build_arguments_and_network_are_the_runtimes(
    engine: docker.APIClient, docker_order: Order, make_environment: Environment, tmp_path: Path
) -> None:
    pods = DockerPods(locks=tmp_path, build_network="none", build_args={"GIVEN": "by the node"})
    order = docker_order(
        make_environment(
            f'FROM {BASE}\nARG GIVEN\nRUN echo "$GIVEN" > /arg; ls /sys/class/net > /net\n'
        )
    )
    pods.prepare(order)
    with pods.pod(order) as pod:
        assert pod.exec(["cat", "/arg", "/net"]).stdout.tail == "by the node\nlo\n"


def test_a_failed_build_tells_its_last_words(
    docker_pods: DockerPods, docker_order: Order, make_environment: Environment
) -> None:
    order = docker_order(make_environment(f"FROM {BASE}\nRUN echo no compiler here; exit 3\n"))
    with pytest.raises(ImageBuildFailed, match=r"(?s)code: 3.*no compiler here"):
        docker_pods.prepare(order)


def test_a_dockerfile_that_is_none_is_a_failed_build(
    docker_pods: DockerPods, docker_order: Order, make_environment: Environment
) -> None:
    with pytest.raises(ImageBuildFailed, match="BREW"):
        docker_pods.prepare(docker_order(make_environment(f"FROM {BASE}\nBREW coffee\n")))


def test_a_build_is_broken_off_at_its_timeout(
    engine: docker.APIClient,
    docker_pods: DockerPods,
    docker_order: Order,
    make_environment: Environment,
) -> None:
    environment = make_environment(f"FROM {BASE}\nRUN echo begun; sleep 97531\n")
    with pytest.raises(ImageBuildFailed, match=r"not done within 1 s"):
        docker_pods.prepare(docker_order(environment, build_timeout_s=1.0))
    while any("sleep 97531" in one["Command"] for one in engine.containers()):
        time.sleep(0.05)  # the engine ends the step when it notices that we hung up


def test_a_missing_base_is_a_failed_pull_and_not_a_failed_build(
    docker_pods: DockerPods, docker_order: Order, make_environment: Environment
) -> None:
    with pytest.raises(ImagePullFailed) as failed:
        docker_pods.prepare(docker_order(make_environment(f"FROM {NEVER}\nRUN true\n")))
    assert failed.value.facts["kind"] == "network"


def test_a_failed_pull_names_the_image_and_the_kind(
    docker_pods: DockerPods, docker_order: Order
) -> None:
    with pytest.raises(ImagePullFailed, match=NEVER) as failed:
        docker_pods.prepare(docker_order(image=NEVER))
    assert failed.value.facts["kind"] == "network"


def test_an_image_that_is_here_is_not_pulled(
    engine: docker.APIClient, docker_pods: DockerPods, docker_order: Order
) -> None:
    assert docker_pods.prepare(docker_order(image=BASE)) == image_id(engine, BASE)


def test_an_image_that_was_removed_is_made_again(
    engine: docker.APIClient,
    docker_pods: DockerPods,
    docker_order: Order,
    make_environment: Environment,
) -> None:
    order = docker_order(make_environment())
    docker_pods.prepare(order)
    engine.remove_image(environment_tag(order.environment_hash))
    with pytest.raises(ImageNotFound):
        image_id(engine, environment_tag(order.environment_hash))
    docker_pods.prepare(order)
    with docker_pods.pod(order) as pod:
        assert pod.exec(["true"]).exit_code == 0
