"""What the code asks of the API is what RIGHTS says, and RIGHTS is what the roles grant."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kube_api import FakeApi
from kube_wait import until

from infranoise.models.errors import PodLost, Refused, StartFailed
from infranoise.models.limits import Limits
from infranoise.models.seating import ClusterPods, Seat
from infranoise.workers.pods.kubernetes.api import Api, ApiRefused
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.rights import RIGHTS, may
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import PodOrder

HELD = Seat(asked=ClusterPods(evidence_finalizer=True))
ALL = {(right.resource, right.verb) for right in RIGHTS}


@pytest.fixture
def pods(cluster: FakeApi, api: Api) -> Iterator[KubernetesPods]:
    made = KubernetesPods(Shape(namespace="trials"), api=api)
    yield made
    made.close()


def order(attempt: str, seat: Seat | None = None) -> PodOrder:
    return PodOrder(attempt, "e", "t", Path("/none"), "h", Limits(), time.time() + 60,
                    image="i:1", seat=seat)  # fmt: skip


def test_everything_that_is_asked_of_the_api_is_a_right_and_every_right_is_used(
    cluster: FakeApi, pods: KubernetesPods
) -> None:
    with pods.pod(order("e.t.1", HELD)) as pod:
        pod.exec(["true"])
    with pods.pod(order("e.t.2")) as lost:
        (made,) = cluster.store.all_of("pods", "trials")
        cluster.store.delete("pods", "trials", made["metadata"]["name"], grace_s=0)
        with pytest.raises(PodLost):
            lost.exec(["true"])
    pods.reap(now=time.time() + 3600)
    pods._cluster.runs.remove_stale((), now=time.time() + 1e6)
    pods._cluster.nodes.feed.refusal = ApiRefused(403, "Forbidden", "")  # then nodes are asked for
    pods._cluster.nodes.seen("node-1")
    assert cluster.used == ALL


def test_with_the_least_rights_an_attempt_runs_and_less_is_known_of_it(
    cluster: FakeApi, pods: KubernetesPods
) -> None:
    cluster.allowed = {(right.resource, right.verb) for right in RIGHTS if right.need == "must"}
    with pods.pod(order("e.t.1")) as pod:
        assert pod.exec(["true"]).exit_code == 0
        place = pod.whereabouts()  # type: ignore[attr-defined]
    assert (place.pod.node, place.profile.cluster.kubelet) == ("node-1", None)
    assert cluster.store.all_of("configmaps") == []


@pytest.mark.parametrize("missing", [("pods", "create"), ("pods/exec", "create")])
def test_a_right_that_must_be_is_missed_by_name(
    missing: tuple[str, str], cluster: FakeApi, pods: KubernetesPods
) -> None:
    cluster.allowed = ALL - {missing}
    with pytest.raises((StartFailed, Refused), match=rf"cannot create .*{missing[0]}"):
        pods.pod(order("e.t.1")).start()


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_pods_that_cannot_be_watched_are_not_made(
    verb: str, cluster: FakeApi, pods: KubernetesPods
) -> None:
    cluster.allowed = ALL - {("pods", verb)}
    pods._cluster.start()
    until(lambda: pods.reflector.feed.refusal is not None)
    with pytest.raises(StartFailed, match=f"cannot {verb} resource"):
        pods.pod(order("e.t.1")).start()
    assert cluster.store.all_of("pods") == []
    cluster.allowed = ALL  # somebody grants it
    until(lambda: pods.reflector.feed.refusal is None)
    with pods.pod(order("e.t.2")) as pod:
        assert pod.exec(["true"]).exit_code == 0


def test_a_review_says_which_rights_there_are(cluster: FakeApi, api: Api) -> None:
    cluster.allowed = ALL - {("nodes/proxy", "get")}
    lacking = [right.words for right in RIGHTS if not may(api, right, "trials")]
    assert lacking == ["get nodes/proxy"]
