"""What is Docker's own about a container pod; `pod_contract.py` has what all pods share."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import docker
import pytest
from docker.errors import NotFound

from infranoise.models.errors import PodLost, Refused, StartFailed, Unschedulable
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.pods.docker.pod import DockerPod
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder

pytestmark = pytest.mark.docker

MIB = 1024**2
BASE = "debian:bookworm-slim"
# An idle process that is told to outgrow every ceiling, under the name of the harmless one.
GREEDY = """#!/bin/bash
exec -a sleep bash -c 'while [ ! -e /go ]; do /bin/sleep 0.05; done; exec tail /dev/zero'
"""
Order = Callable[..., PodOrder]
Environment = Callable[..., tuple[Path, str]]


def inspected(engine: docker.APIClient, order: PodOrder) -> dict[str, Any]:
    label = f"dev.infranoise.attempt={order.attempt_id}"
    (found,) = engine.containers(all=True, filters={"label": label})
    return dict(engine.inspect_container(found["Id"]))


def remains(engine: docker.APIClient, order: PodOrder) -> bool:
    label = f"dev.infranoise.attempt={order.attempt_id}"
    return bool(engine.containers(all=True, filters={"label": label}))


@pytest.fixture
def pod_of(docker_pods: DockerPods) -> Callable[[PodOrder], DockerPod]:
    def prepared(order: PodOrder) -> DockerPod:
        docker_pods.prepare(order)
        return docker_pods.pod(order)

    return prepared


PodOf = Callable[[PodOrder], DockerPod]

# --- what is refused before anything is started ---


@pytest.mark.parametrize(
    ("file", "more", "words"),
    [
        ("docker-compose.yaml", {}, "multi-container"),
        ("Dockerfile", {"network": "gateway", "allow": ("*",)}, "allows everything"),
        ("notes.txt", {}, "Dockerfile"),
    ],
)
def test_a_task_that_docker_cannot_run_is_refused_with_the_reason(
    docker_pods: DockerPods,
    docker_order: Order,
    tmp_path: Path,
    file: str,
    more: dict[str, Any],
    words: str,
) -> None:
    (tmp_path / file).write_text("FROM scratch\n")
    order = docker_order((tmp_path, "h"), **more)
    assert words in (docker_pods.refuse(order) or "")
    with pytest.raises(Refused, match=words):
        docker_pods.prepare(order)


def test_a_named_image_needs_no_dockerfile(
    docker_pods: DockerPods, docker_order: Order, tmp_path: Path
) -> None:
    assert docker_pods.refuse(docker_order((tmp_path, "h"), image=BASE)) is None


def test_without_an_engine_the_runtime_cannot_be_had(docker_order: Order, tmp_path: Path) -> None:
    nowhere = DockerPods(f"unix://{tmp_path}/no.sock")
    with pytest.raises(Refused, match="no Docker engine answers"):
        nowhere.reap(now=0.0)


def test_a_floor_above_the_host_is_unschedulable(pod_of: PodOf, docker_order: Order) -> None:
    pod = pod_of(docker_order(limits={"memory_floor_bytes": 2**50}))
    with pytest.raises(Unschedulable, match="memory floor"):
        pod.start()
    pod.stop()


# --- start and stop ---


def test_a_pod_says_whose_it_is_and_makes_no_network(
    engine: docker.APIClient, pod_of: PodOf, docker_order: Order
) -> None:
    before = {network["Id"] for network in engine.networks()}
    order = docker_order(network="public")
    with pod_of(order) as pod:
        labels = inspected(engine, order)["Config"]["Labels"]
        assert {network["Id"] for network in engine.networks()} == before
        interfaces = pod.exec(["ls", "/sys/class/net"]).stdout.tail.split()
    assert labels["dev.infranoise.experiment"] == "tests"
    assert labels["dev.infranoise.trial"] == "one"
    assert float(labels["dev.infranoise.expires-at"]) == order.expires_at
    assert interfaces == ["eth0", "lo"]


def test_the_images_own_program_is_not_run_but_its_settings_stand(
    pod_of: PodOf, docker_order: Order, make_environment: Environment
) -> None:
    environment = make_environment(
        f'FROM {BASE}\nENV A=image B=image\nWORKDIR /place\nENTRYPOINT ["false"]\nCMD ["false"]\n'
    )
    show = ["sh", "-c", "echo $A $B $PWD"]
    with pod_of(docker_order(environment, env={"B": "order"})) as pod:
        assert pod.exec(show).stdout.tail == "image order /place\n"
    with pod_of(docker_order(environment, workdir="/other")) as pod:
        assert pod.exec(show).stdout.tail == "image image /other\n"


def test_limits_are_read_back_from_the_kernel(pod_of: PodOf, docker_order: Order) -> None:
    asked = {
        "memory_floor_bytes": 48 * MIB,
        "memory_ceiling_bytes": 64 * MIB,
        "cpu_floor": 0.5,
        "cpu_ceiling": 0.75,
        "pids": 77,
    }
    with pod_of(docker_order(limits=asked)) as pod:
        pod.stop()
        got = pod.start()
    assert got.memory_floor_bytes == 48 * MIB
    assert got.memory_ceiling_bytes == 64 * MIB
    assert got.memory_and_swap_bytes == 64 * MIB
    assert (got.cpu_shares, got.cpu_ceiling, got.pids) == (512, 0.75, 77)
    assert got.enforcement.startswith("docker:cgroup-v")
    assert got.differs == ()


def test_more_cores_than_the_host_has_are_told_and_not_refused(
    pod_of: PodOf, docker_order: Order
) -> None:
    pod = pod_of(docker_order(limits={"cpu_ceiling": 999}))
    try:
        assert "the host has" in pod.start().differs[0]
    finally:
        pod.stop()


def test_nothing_is_left_of_a_pod(
    engine: docker.APIClient, pod_of: PodOf, docker_order: Order, make_environment: Environment
) -> None:
    order = docker_order(make_environment(f'FROM {BASE}\nVOLUME ["/data"]\n'))
    pod = pod_of(order)
    pod.start()
    (mount,) = inspected(engine, order)["Mounts"]
    pod.stop()
    pod.stop()
    assert not remains(engine, order)
    with pytest.raises(NotFound):
        engine.inspect_volume(mount["Name"])


def test_an_image_without_a_program_to_idle_in_cannot_start(
    engine: docker.APIClient, pod_of: PodOf, docker_order: Order, make_environment: Environment
) -> None:
    order = docker_order(make_environment("FROM scratch\nCOPY Dockerfile /\n"))
    pod = pod_of(order)
    with pytest.raises(StartFailed, match="sleep"):
        pod.start()
    pod.stop()
    assert not remains(engine, order)


# --- commands ---


def test_a_program_that_is_not_there_is_no_output_of_the_command(
    pod_of: PodOf, docker_order: Order
) -> None:
    with pod_of(docker_order()) as pod:
        result = pod.exec(["no-such-program"])
    assert (result.exit_code, result.stdout.tail) == (127, "")
    assert "no-such-program" in result.stderr.tail


def test_a_command_that_closes_its_output_is_waited_for(pod_of: PodOf, docker_order: Order) -> None:
    with pod_of(docker_order()) as pod:
        result = pod.exec(["sh", "-c", "exec >&- 2>&-; sleep 0.3; exit 5"])
    assert result.exit_code == 5


def test_a_command_that_is_only_starting_at_its_timeout_does_not_start_behind_it(
    pod_of: PodOf, docker_order: Order
) -> None:
    everything = ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]
    with pod_of(docker_order()) as pod:
        for timeout_s in (0.0, 0.01, 0.02, 0.03, 0.04, 0.05):
            assert pod.exec(["sleep", "86421"], timeout_s=timeout_s).timed_out
            assert "86421" not in pod.exec(everything).stdout.tail


def test_a_command_that_kills_all_it_sees_does_not_take_the_pod_with_it(
    pod_of: PodOf, docker_order: Order
) -> None:
    with pod_of(docker_order(limits={"memory_ceiling_bytes": 32 * MIB})) as pod:
        pod.exec(["sh", "-c", "head -c 60000000 /dev/zero | tail"])  # an OOM kill, to be kept
        kills = pod.counters().oom_kills
        pod.exec(["sh", "-c", "echo kept > /kept; kill -9 -1"])
        assert pod.exec(["cat", "/kept"]).stdout.tail == "kept\n"
        after = pod.counters()
    assert kills
    assert after.oom_kills == kills
    assert after.memory_peak_bytes == 32 * MIB


def test_a_command_that_meets_a_pod_on_its_way_down_is_run_in_its_next_life(
    pod_of: PodOf, docker_order: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = docker.APIClient.exec_create

    def create_and_lose(client: docker.APIClient, container: str, *words: Any, **more: Any) -> Any:
        monkeypatch.setattr(docker.APIClient, "exec_create", create)
        made = create(client, container, *words, **more)
        client.wait(container)
        return made

    with pod_of(docker_order()) as pod:
        pod.exec(["sh", "-c", "setsid sh -c 'sleep 1; kill -9 -1' >/dev/null 2>&1 &"])
        monkeypatch.setattr(docker.APIClient, "exec_create", create_and_lose)
        assert pod.exec(["echo", "alive"]).stdout.tail == "alive\n"


def test_output_that_arrives_with_the_engines_headers_is_not_lost(
    engine: docker.APIClient, docker_order: Order, relay: Callable[[float], Any], tmp_path: Path
) -> None:
    pods = DockerPods(relay(0.3).url, locks=tmp_path)
    order = docker_order()
    pods.prepare(order)
    with pods.pod(order) as pod:
        assert pod.exec(["echo", "first words"]).stdout.tail == "first words\n"


# --- loss ---


def test_a_pod_whose_first_process_is_killed_for_memory_says_so(
    pod_of: PodOf, docker_order: Order, make_environment: Environment
) -> None:
    dockerfile = (
        f"FROM {BASE}\nCOPY greedy /usr/local/bin/sleep\nRUN chmod +x /usr/local/bin/sleep\n"
    )
    environment = make_environment(dockerfile, greedy=GREEDY)
    with pod_of(docker_order(environment, limits={"memory_ceiling_bytes": 24 * MIB})) as pod:
        with pytest.raises(PodLost) as lost:
            pod.exec(["sh", "-c", "touch /go; /bin/sleep 60"])
        assert lost.value.facts["reason"] == "oom_killed"
        assert pod.counters().oom_kills == 1
        assert pod.quiesce() == 0


@pytest.mark.parametrize(
    ("blow", "reason", "ahead_s"),
    [("kill", "exited", 0), ("remove", "removed", 0), ("kill", "exited", 3600)],
    ids=["killed", "removed", "killed, and our clock is an hour ahead of the engine's"],
)
def test_a_pod_that_someone_ends_during_a_command_is_lost(
    engine: docker.APIClient,
    pod_of: PodOf,
    docker_order: Order,
    monkeypatch: pytest.MonkeyPatch,
    blow: str,
    reason: str,
    ahead_s: float,
) -> None:
    order, real = docker_order(), time.time
    monkeypatch.setattr(time, "time", lambda: real() + ahead_s)
    with pod_of(order) as pod:
        pod.exec(["true"])
        container = inspected(engine, order)["Id"]

        def strike() -> None:
            client = docker.APIClient(version=engine.api_version)
            while not client.inspect_container(container)["ExecIDs"]:
                time.sleep(0.01)
            client.kill(container) if blow == "kill" else client.remove_container(
                container, force=True
            )
            client.close()

        striker = threading.Thread(target=strike)
        striker.start()
        with pytest.raises(PodLost) as lost:
            pod.exec(["sleep", "60"])
        striker.join()
        assert lost.value.facts["reason"] == reason
        assert lost.value.facts["oom_killed"] is not True
        assert pod.counters().oom_kills == 0


# --- files ---


def test_an_upload_leaves_the_folders_that_are_there_as_they_are(
    pod_of: PodOf, docker_order: Order, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    tmp_path.chmod(0o700)
    with pod_of(docker_order()) as pod:
        pod.upload(tmp_path, PurePosixPath("/tmp"))
        assert pod.exec(["stat", "-c", "%a %U", "/tmp", "/tmp/file"]).stdout.tail == (
            "1777 root\n644 root\n"
        )


def test_a_link_that_is_asked_for_is_followed_inside_the_pod(
    pod_of: PodOf, docker_order: Order, tmp_path: Path
) -> None:
    with pod_of(docker_order()) as pod:
        pod.exec(["sh", "-c", "echo in the pod > /etc/hostname.x; ln -s /etc/hostname.x /reward"])
        assert pod.download(PurePosixPath("/reward"), tmp_path / "reward")
        pod.exec(["sh", "-c", "ln -s /nowhere /dangling"])
        assert not pod.download(PurePosixPath("/dangling"), tmp_path / "dangling")
    assert (tmp_path / "reward").read_text() == "in the pod\n"


# --- an engine on another machine ---


def test_an_engine_elsewhere_serves_through_its_api_alone(
    engine: docker.APIClient, docker_order: Order, relay: Callable[..., Any], tmp_path: Path
) -> None:
    pods = DockerPods(relay().url, locks=tmp_path)
    order = docker_order(
        limits={"memory_ceiling_bytes": 32 * MIB, "storage_ceiling_bytes": 64 * MIB}
    )
    pods.prepare(order)
    with pods.pod(order) as pod:
        pod.stop()
        assert pod.start().differs == ("storage ceiling: asked 67108864, in force none",)
        assert pod.exec(["cat"], stdin=b"spoken").stdout.tail == "spoken"
        killed = pod.exec(["sh", "-c", "head -c 60000000 /dev/zero | tail"])
        assert killed.exit_code == 137
        kills = pod.counters().oom_kills
        assert kills
        pod.exec(["sh", "-c", "echo kept > /kept"])
        assert pod.exec(["sleep", "60"], timeout_s=0.1).timed_out
        after = pod.exec(["cat", "/kept"])
        assert after.stdout.tail == "kept\n", after.stderr.tail
        counters = pod.counters()
    assert counters.source == "docker-api"
    assert counters.oom_kills == kills
    assert counters.storage_exceeded is None


# --- what a dead worker left ---

WORKER = """
import sys, time
from pathlib import Path
from infranoise.models.limits import Limits
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder
folder, content, attempt, expires, locks = sys.argv[1:]
pods = DockerPods(locks=Path(locks))
order = PodOrder(attempt, "tests", "one", Path(folder), content, Limits(), float(expires))
pods.pod(order).start()
print("up", flush=True)
time.sleep(600)
"""


def facts_of(order: PodOrder) -> tuple[str, ...]:
    place = (str(order.environment), order.environment_hash)
    return (*place, order.attempt_id, str(order.expires_at))


def test_what_a_killed_worker_left_is_removed_and_nothing_else(
    engine: docker.APIClient, docker_pods: DockerPods, docker_order: Order, tmp_path: Path
) -> None:
    theirs, spared, mine, old = (docker_order() for _ in range(4))
    then = time.time() + 20  # so that nobody else on this engine reaps it before
    old = replace(old, expires_at=then - 1)
    docker_pods.prepare(mine)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, *facts_of(order), str(tmp_path)], stdout=subprocess.PIPE
        )
        for order in (theirs, spared)
    ]
    with docker_pods.pod(mine), docker_pods.pod(old):
        for worker in workers:
            with worker:
                assert worker.stdout is not None
                assert worker.stdout.readline() == b"up\n"
                os.kill(worker.pid, signal.SIGKILL)
        gone = docker_pods.reap(now=then, alive={spared.attempt_id})
        assert {theirs.attempt_id, old.attempt_id} <= set(gone)
        assert remains(engine, mine)
        assert remains(engine, spared)
        assert not remains(engine, theirs)
    assert spared.attempt_id in docker_pods.reap(now=time.time())


def test_the_engine_says_what_it_is(docker_pods: DockerPods) -> None:
    facts = docker_pods.facts()
    assert facts["runtime"] == "docker"
    assert facts["engine"]
    assert facts["cgroup_version"] in (1, 2)
    assert facts["network_allowlist"] is (not why_no_outlets())
