"""Whole attempts in a cluster whose containers Docker runs: real kills, real interference.

Many kills at once: INFRANOISE_TEST_KILLS=60.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import docker
import pytest
from docker.errors import DockerException
from kube_api import FakeApi
from kube_kubelet import DockerKubelet
from kube_store import now
from kubernetes import client

from infranoise.models.classify import classify
from infranoise.models.entry import Entry
from infranoise.models.limits import Limits
from infranoise.models.message import AttemptMessage, AttemptRecord
from infranoise.models.outcome import Outcome
from infranoise.models.task_file import load_task
from infranoise.models.trial import CellKey, TrialKey
from infranoise.workers.attempt import Node, run_attempt
from infranoise.workers.bearings import Bearings
from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.slots import Slots

pytestmark = pytest.mark.docker
MIB = 1 << 20
IMAGE = "python:3.12-slim"
KILLS = int(os.environ.get("INFRANOISE_TEST_KILLS", "3"))
HOG = "python3 -c 'x = b\"y\" * (200 << 20)'"
JUDGE = "if [ -f /tmp/answer ]; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt"
GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
Attempt = Callable[..., AttemptRecord]


class Cluster:
    """A fake cluster with one node, and what can happen in it."""

    def __init__(self, fake: FakeApi, kubelet: DockerKubelet, pods: KubernetesPods) -> None:
        self.fake, self.kubelet, self.pods, self.store = fake, kubelet, pods, fake.store

    def condition(self, pod: dict[str, Any], reason: str) -> None:
        """A DisruptionTarget, as a scheduler or a controller writes it."""
        told = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": "",
                "lastTransitionTime": now()}  # fmt: skip
        conditions = [*pod["status"].get("conditions", ()), told]
        self.store.status("trials", pod["metadata"]["name"], {"conditions": conditions})

    def when_working(self, act: Callable[[dict[str, Any]], None]) -> threading.Thread:
        """Do something to the one pod as soon as an exec has begun in it."""

        def wait() -> None:
            until = time.monotonic() + 20
            while time.monotonic() < until:
                begun = sum("/exec" in path for _, path in list(self.fake.requests))
                pods = self.store.all_of("pods", "trials")
                if pods and begun >= 5:
                    act(pods[0])
                    return
                time.sleep(0.02)

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread


@pytest.fixture
def cluster(
    fake: FakeApi,
    api: Api,
    node: dict[str, Any],
    missing: Callable[[str], NoReturn],
    tmp_path: Path,
) -> Iterator[Cluster]:
    try:
        engine = docker.from_env()
        engine.images.get(IMAGE)
        engine.close()
    except DockerException as problem:
        missing(f"a Docker engine with {IMAGE} ({problem})")
    kubelet = DockerKubelet(fake, node)
    pods = KubernetesPods(Shape(namespace="trials"), api=api, diary=tmp_path / "diary")
    yield Cluster(fake, kubelet, pods)
    pods.close()
    kubelet.close()


@pytest.fixture
def attempt(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Attempt:
    def run(agent: str, verifier: str = JUDGE) -> AttemptRecord:
        folder = tmp_path_factory.mktemp("task")
        toml = f'version = "1.0"\n[environment]\nmemory_mb = 64\ndocker_image = "{IMAGE}"\n'
        texts = {"task.toml": toml, "instruction.md": "Solve it.\n", "tests/test.sh": verifier,
                 "solution/solve.sh": agent}  # fmt: skip
        for name, text in texts.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text + "\n")
        here = Node("here", Bearings(), Slots(1))
        return run_attempt(message(folder), cluster.pods, here)

    return run


def message(folder: Path) -> AttemptMessage:
    task, entry, at = load_task(folder), Entry(agent="oracle"), time.time()
    return AttemptMessage(
        attempt_id=f"{folder.name}-{at:.6f}.1",
        trial_id=folder.name,
        experiment="tests",
        key=TrialKey(cell=CellKey(task=task.name, entry=entry.name, band="b"), sample=0),
        number=1,
        task=task,
        entry=entry,
        limits=Limits(
            memory_floor_bytes=32 * MIB,
            memory_ceiling_bytes=64 * MIB,
            storage_ceiling_bytes=16 * MIB,
        ),
        runtime="kubernetes",
        network="public",
        agent_timeout_s=30,
        verifier_timeout_s=30,
        build_timeout_s=5,
        seed=1,
        queued_at=at,
        placed_at=at,
        deadline_at=at + 300,
    )


def means(record: AttemptRecord) -> Outcome:
    return classify(record.evidence)


STORIES = {
    "a child outgrows its ceiling, and the trial is lost": (
        f"{HOG}; true",
        ("infra_error", "oom_killed", "collateral"),
    ),
    "it writes more than its storage ceiling": (
        "head -c 24000000 /dev/zero > /tmp/fill; sleep 30",
        ("infra_error", "evicted", None),
    ),
    "a child does, and the trial is solved": (
        f"{HOG} || touch /tmp/answer",
        ("passed", "", "recovered"),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_story_ends_in_a_cluster_as_it_does_elsewhere(story: str, attempt: Attempt) -> None:
    agent, wanted = STORIES[story]
    outcome = means(attempt(agent))
    assert (outcome.verdict, outcome.cause, outcome.oom) == wanted, outcome


def test_every_kill_is_known_though_the_api_tells_of_a_plain_error(
    cluster: Cluster, attempt: Attempt
) -> None:
    cluster.kubelet.forgets_oom = True
    with ThreadPoolExecutor(3) as pool:
        records = list(pool.map(lambda _: attempt(f"exec {HOG}"), range(KILLS)))
    assert [means(record).oom for record in records] == ["main"] * KILLS
    for record in records:
        kube = record.evidence.kube
        assert kube is not None
        assert not kube.oom_reason
        assert kube.report is not None
        assert kube.report.oom_kills == 1


def evict(cluster: Cluster, pod: dict[str, Any]) -> None:
    api = client.CoreV1Api(client.ApiClient(client.Configuration(host=cluster.fake.url)))
    name = pod["metadata"]["name"]
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    api.create_namespaced_pod_eviction(name, "trials", body, _preload_content=False)


def preempt(cluster: Cluster, pod: dict[str, Any]) -> None:
    cluster.condition(pod, "PreemptionByScheduler")
    cluster.store.delete("pods", "trials", pod["metadata"]["name"])


def lose_node(cluster: Cluster, pod: dict[str, Any]) -> None:
    cluster.store.delete("nodes", "", pod["spec"]["nodeName"])
    cluster.condition(pod, "DeletionByPodGC")
    cluster.store.delete("pods", "trials", pod["metadata"]["name"], grace_s=0)


def delete(cluster: Cluster, pod: dict[str, Any]) -> None:
    cluster.store.delete("pods", "trials", pod["metadata"]["name"])


INTERFERENCE = {
    "evicted": (evict, "evicted"),
    "preempted": (preempt, "preempted"),
    "its node is lost": (lose_node, "node_lost"),
    "deleted by someone": (delete, "evicted"),
}


@pytest.mark.parametrize("how", INTERFERENCE)
def test_what_the_cluster_does_to_a_pod_is_never_the_model_s_failure(
    how: str, cluster: Cluster, attempt: Attempt
) -> None:
    act, cause = INTERFERENCE[how]
    thread = cluster.when_working(lambda pod: act(cluster, pod))
    outcome = means(attempt("touch /tmp/answer; sleep 30"))
    thread.join(20)
    assert (outcome.verdict, outcome.cause) == ("infra_error", cause), outcome


def test_an_api_that_starts_again_under_an_attempt_leaves_no_orphan(
    cluster: Cluster, attempt: Attempt
) -> None:
    thread = cluster.when_working(lambda pod: cluster.fake.restart())
    outcome = means(attempt("touch /tmp/answer; sleep 3"))
    thread.join(20)
    assert (outcome.verdict, outcome.cause) in (("passed", ""), ("infra_error", "network")), outcome
    assert cluster.store.all_of("pods", "trials") == []
    assert cluster.kubelet.containers() == []


def test_an_intent_is_written_before_a_pod_is_deleted(
    cluster: Cluster, attempt: Attempt, tmp_path: Path
) -> None:
    assert means(attempt("touch /tmp/answer")).verdict == "passed"
    diary = next((tmp_path / "diary").iterdir())
    rows = [json.loads(line) for line in diary.read_text().splitlines()]
    intent = next(n for n, row in enumerate(rows) if row["what"] == "INTENT")
    assert all(row["ours"] for row in rows[intent + 1 :] if "ours" in row)
    assert not any(row.get("deletion") for row in rows[:intent])
    (last,) = (row for row in rows if row["what"] == "DELETED")
    assert last["object"]["metadata"]["uid"] == rows[intent]["uid"]


def test_an_attempt_tells_of_the_node_that_its_pod_was_on_and_what_it_was_given(
    cluster: Cluster, attempt: Attempt
) -> None:
    cluster.fake.configz = json.loads((GOLDEN / "kubelet-configz.json").read_text())
    record = attempt("touch /tmp/answer")
    around, profile = record.conditions, record.profile
    assert (around.node, around.worker) == ("node-1", "here")
    assert profile is not None
    assert around.node_profile == profile.profile_hash
    assert profile.cluster is not None
    assert profile.cluster.kubelet is not None
    assert profile.cluster.kubelet["maxPods"] == 110
    assert profile.cpu_model  # seen from inside
    assert profile.cgroup_version in (1, 2)
    pod = around.pod
    assert pod is not None
    assert (pod.user, pod.qos_class, pod.co_tenants) == (0, "Burstable", 0)
    assert pod.cluster_version == "v1.36.2"
    assert record.image_id == pod.image_id != ""
    assert around.load_end is not None
    assert around.load_end.load1 is not None
    kube = record.evidence.kube
    assert kube is not None
    assert kube.report is not None
    assert kube.report.lived_s is not None
    assert 0 < kube.report.lived_s < 60
    assert kube.report.wall_after == pytest.approx(time.time(), abs=60)
