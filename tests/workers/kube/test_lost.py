"""Work in a pod that breaks off: what became of the pod is asked for, not guessed."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from kube_api import FakeApi
from kube_store import Object
from kube_wait import until

from infranoise.models.classify import classify
from infranoise.models.errors import PodLost
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.kube_reading import facts
from infranoise.models.limits import Limits
from infranoise.workers.pods.kubernetes import exec
from infranoise.workers.pods.kubernetes.api import Api, Ask
from infranoise.workers.pods.kubernetes.pod import KubernetesPod
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import PodOrder

LIVE_ON = True
EVICTED = {
    "phase": "Failed",
    "reason": "Evicted",
    "message": "The node was low on resource: pids. ",
}


@pytest.fixture
def pods(cluster: FakeApi, api: Api) -> Iterator[KubernetesPods]:
    made = KubernetesPods(Shape(namespace="trials"), api=api)
    yield made
    made.close()


@pytest.fixture
def pod(pods: KubernetesPods) -> Iterator[KubernetesPod]:
    """A pod that runs."""
    order = PodOrder("e.t.1", "e", "t", Path("/none"), "h", Limits(), time.time() + 60, image="i:1")
    with pods.pod(order) as made:
        yield made


def meaning(pod: KubernetesPod) -> tuple[str, str]:
    """What its end means for a trial whose verifier said no."""
    phases = (Phase(name="agent", exit_code=0), Phase(name="verifier", exit_code=0))
    outcome = classify(Evidence(phases=phases, reward=0.0, kube=pod.ending()))
    return outcome.verdict, outcome.cause


def test_a_connection_that_broke_is_explained_by_a_status_that_comes_later(
    cluster: FakeApi, pod: KubernetesPod
) -> None:
    async def breaks(found: Object, argv: list[str], channel: web.WebSocketResponse) -> None:
        late = (cluster.store.status, ("trials", found["metadata"]["name"], EVICTED))
        threading.Timer(0.3, *late).start()
        assert channel._req is not None
        assert channel._req.transport is not None
        channel._req.transport.abort()

    cluster.execute = breaks
    with pytest.raises(PodLost) as lost:
        pod.exec(["true"])
    assert lost.value.facts["reason"] == "Evicted"
    pod.stop()
    assert meaning(pod) == ("infra_error", "evicted")


@pytest.mark.parametrize("bound", ["PLAIN_S", "PLAIN_BYTES"])
def test_a_pod_whose_shell_was_replaced_cannot_hold_or_flood_its_worker(
    bound: str, cluster: FakeApi, pod: KubernetesPod, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def floods(found: Object, argv: list[str], channel: web.WebSocketResponse) -> None:
        with suppress(ConnectionError):
            while True:
                await channel.send_bytes(b"\x01" + b"oom_kill 9" * 100)
                await asyncio.sleep(0.001)

    monkeypatch.setattr(exec, bound, 0.2 if bound == "PLAIN_S" else 5000)
    before = pod.counters()
    cluster.execute = floods
    assert pod.counters() == before


def disrupt(cluster: FakeApi, reason: str, at: float) -> None:
    """Write that a pod is to go, at a moment by the cluster's clock."""
    (made,) = cluster.store.all_of("pods", "trials")
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    told = {"type": "DisruptionTarget", "status": "True", "reason": reason,
            "lastTransitionTime": moment}  # fmt: skip
    conditions = [*made["status"]["conditions"], told]
    cluster.store.status("trials", made["metadata"]["name"], {"conditions": conditions})


@pytest.mark.parametrize("ahead_s", [0.0, -3600.0, 3600.0])
def test_a_verdict_stands_or_falls_by_when_it_was_and_not_by_whose_clock_is_off(
    ahead_s: float, cluster: FakeApi, api: Api, pod: KubernetesPod
) -> None:
    cluster.clock_ahead_s = ahead_s
    api.ask(Ask("GET", "/version"))
    now = time.time()
    disrupt(cluster, "PreemptionByScheduler", now + ahead_s + 100)
    until(lambda: pod._witness.facts().disruption != "")
    phases = (Phase(name="agent", exit_code=0), Phase(name="verifier", exit_code=0))
    causes = {
        later_s: classify(Evidence(phases=phases, reward=1.0, kube=pod.ending(now + later_s))).cause
        for later_s in (0, 200)
    }
    assert causes == {0: "", 200: "preempted"}


def test_a_node_that_was_silent_then_is_found_whatever_the_cluster_s_clock_says(
    cluster: FakeApi, api: Api, pods: KubernetesPods, pod: KubernetesPod
) -> None:
    nodes = pods._cluster.nodes
    for word, ready in (("Unknown", "unknown"), ("True", "yes")):
        with cluster.store.lock:
            found = cluster.store.get("nodes", "", "node-1")
            found["status"]["conditions"] = [{"type": "Ready", "status": word}]
            cluster.store._put("MODIFIED", "nodes", found)
        until(lambda ready=ready: nodes.seen("node-1").ready == ready)  # type: ignore[misc]
    cluster.clock_ahead_s = 3600.0
    api.ask(Ask("GET", "/version"))
    disrupt(cluster, "DeletionByTaintManager", time.time() + 3600)
    until(lambda: pod._witness.facts().disruption != "")
    assert meaning(pod) == ("infra_error", "node_lost")


def test_a_container_that_was_started_again_is_not_the_trial_s(
    cluster: FakeApi, pods: KubernetesPods, pod: KubernetesPod
) -> None:
    (made,) = cluster.store.all_of("pods", "trials")
    again = {"name": "main", "state": {"running": {}}, "lastState": {}, "restartCount": 1}
    cluster.store.status("trials", made["metadata"]["name"], {"containerStatuses": [again]})
    uid = made["metadata"]["uid"]
    assert pods.reflector.wait(uid, lambda history: facts(history).restarts == 1, 10)
    with pytest.raises(PodLost):
        pod.exec(["true"])
    pod.stop()
    assert meaning(pod) == ("infra_error", "unknown")
