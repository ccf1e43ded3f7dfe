"""How a pod comes to run or does not, by recordings played back: in the cluster's words."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kube_api import FakeApi
from kube_replay import ReplayKubelet
from kube_store import Denied

from infranoise.models.classify import classify
from infranoise.models.errors import (
    ImagePullFailed,
    PodError,
    PodLost,
    Refused,
    StartFailed,
    Unschedulable,
)
from infranoise.models.evidence import Evidence
from infranoise.models.kube_evidence import KubeEvidence
from infranoise.models.limits import Limits
from infranoise.models.seating import ClusterPods, Seat
from infranoise.workers.pods.kubernetes import cluster as kubernetes_cluster
from infranoise.workers.pods.kubernetes import words
from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.start import Patience, problem
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import PodOrder

QUICK, PATIENCE_S = 0.002, 0.6
SEAT = Seat(asked=ClusterPods(schedule_timeout_s=PATIENCE_S))


@pytest.fixture
def pods(fake: FakeApi, api: Api) -> Iterator[KubernetesPods]:
    made = KubernetesPods(Shape(namespace="trials"), api=api)
    yield made
    made.close()


def order(**more: Any) -> PodOrder:
    values: dict[str, Any] = {
        "attempt_id": "e.t.1", "experiment": "e", "trial": "t", "environment": Path("/none"),
        "environment_hash": "sha256:abc", "limits": Limits(), "expires_at": time.time() + 60,
        "image": "task:1", "seat": SEAT, "build_timeout_s": PATIENCE_S, "start_timeout_s": 0.0,
    }  # fmt: skip
    return PodOrder(**(values | more))


ENDS: dict[str, tuple[type[PodError], str]] = {
    "image-missing": (ImagePullFailed, "image_pull"),
    "image-never": (ImagePullFailed, "image_pull"),
    "image-invalid-name": (ImagePullFailed, "image_pull"),
    "config-error": (StartFailed, "start_failed"),
    "mount-stuck": (StartFailed, "start_failed"),
    "start-failed": (StartFailed, "start_failed"),
    "unschedulable-selector": (Unschedulable, "unschedulable"),
    "outofmemory-admission": (PodError, "unschedulable"),
}


@pytest.mark.parametrize("scenario", ENDS)
def test_a_pod_that_does_not_come_to_run_says_why(
    scenario: str, fake: FakeApi, pods: KubernetesPods
) -> None:
    error, cause = ENDS[scenario]
    ReplayKubelet(fake.store, scenario, QUICK)
    pod = pods.pod(order())
    with pytest.raises(error):
        pod.start()
    kube = pod.ending()
    assert kube is not None
    outcome = classify(Evidence(kube=kube))
    assert (outcome.verdict, outcome.cause) == ("infra_error", cause)


def test_what_a_full_quota_took_of_the_patience_a_scheduler_does_not_get_again() -> None:
    patience = Patience(600.0, 60.0)
    assert patience.after(200.0) == Patience(400.0, 60.0)
    assert patience.after(600.0).of("schedule") == 30.0  # its moment
    assert Patience(5.0, 60.0).after(5.0).of("schedule") == 5.0


def test_a_pod_that_was_taken_away_before_it_ran_is_lost_and_did_not_fail_to_start() -> None:
    taken = KubeEvidence(deleted=True, disruption="PreemptionByScheduler")
    assert isinstance(problem("over", taken), PodLost)
    assert isinstance(problem("over", KubeEvidence(phase="Failed", reason="X")), StartFailed)


def test_a_floor_that_one_node_holds_is_tried(
    fake: FakeApi, pods: KubernetesPods, node: dict[str, Any]
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    tiny = node | {"metadata": {"name": "tiny"}, "status": {"allocatable": {"cpu": "0"}}}
    for one in (tiny, node):
        fake.store.create("nodes", "", one)
    with pytest.raises(StartFailed, match="StartError"):
        pods.pod(order(limits=Limits(memory_floor_bytes=1 << 20))).start()


def test_a_floor_above_every_node_is_not_even_tried(
    fake: FakeApi, pods: KubernetesPods, node: dict[str, Any]
) -> None:
    fake.store.create("nodes", "", node)
    pod = pods.pod(order(limits=Limits(memory_floor_bytes=1 << 50)))
    with pytest.raises(Unschedulable, match="lower the floor"):
        pod.start()
    assert fake.store.all_of("pods", "trials") == []
    kube = pod.ending()
    assert kube is not None
    assert classify(Evidence(kube=kube)).detail.startswith("config_error")


def test_a_band_that_a_limit_range_changed_is_refused_before_it_counts(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    def cap(pod: dict[str, Any]) -> None:
        pod["spec"]["containers"][0]["resources"]["limits"] = {"memory": "256Mi"}

    fake.store.admit.append(cap)
    pod = pods.pod(order())
    with pytest.raises(Refused, match="256Mi"):
        pod.start()
    pod.stop()
    assert fake.store.all_of("pods", "trials") == []


PROXY = {"name": "proxy", "image": "mesh:1"}
WEBHOOKS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a container": (lambda spec: spec["containers"].append(PROXY), "'proxy' was put into the pod"),
    "another runtime": (
        lambda spec: spec.update(runtimeClassName="gvisor"),
        "runtimeClassName: asked None, admitted gvisor",
    ),
    "restarts": (lambda spec: spec.update(restartPolicy="OnFailure"), "restartPolicy: asked Never"),
    "its node's network": (lambda spec: spec.update(hostNetwork=True), "node's own network"),
    "a first process": (
        lambda spec: spec["containers"][0].update(command=["inject", "--"]),
        "its first process is another",
    ),
}


@pytest.mark.parametrize("what", WEBHOOKS)
def test_what_a_webhook_puts_into_a_pod_is_refused(
    what: str, fake: FakeApi, pods: KubernetesPods
) -> None:
    put_in, why = WEBHOOKS[what]
    fake.store.admit.append(lambda pod: put_in(pod["spec"]))
    pod = pods.pod(order())
    with pytest.raises(Refused, match=why):
        pod.start()
    pod.stop()
    assert fake.store.all_of("pods", "trials") == []


def test_a_create_whose_answer_was_lost_makes_one_pod(fake: FakeApi, pods: KubernetesPods) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    fake.loses_answers = 1
    with pytest.raises(StartFailed, match="StartError"):
        pods.pod(order()).start()
    assert len(fake.store.all_of("pods", "trials")) == 1


def test_a_quota_that_others_count_on_at_the_same_time_is_asked_again(
    fake: FakeApi, pods: KubernetesPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    monkeypatch.setattr(kubernetes_cluster, "QUOTA_PAUSE_S", 0.05)
    conflicts = [Denied(409, "Conflict", 'Operation cannot be fulfilled on resourcequotas "q"')] * 2

    def count(pod: dict[str, Any]) -> None:
        if conflicts:
            raise conflicts.pop()

    fake.store.admit.append(count)
    with pytest.raises(StartFailed, match="StartError"):
        pods.pod(order()).start()


def test_a_pod_of_ours_that_another_worker_made_is_not_taken_over(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    theirs = words.manifest(order(), Shape(namespace="trials", owner="another"), time.time())
    fake.store.create("pods", "trials", theirs)
    with pytest.raises(StartFailed, match="already exists"):
        pods.pod(order()).start()
    assert len(fake.store.all_of("pods", "trials")) == 1


def test_a_full_quota_is_waited_for_and_then_no_room(
    fake: FakeApi, pods: KubernetesPods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_cluster, "QUOTA_PAUSE_S", 0.05)
    fake.quota_full = True
    pod = pods.pod(order())
    with pytest.raises(Unschedulable, match="quota"):
        pod.start()
    assert classify(Evidence(kube=pod.ending())).rule == "kubernetes 10: no room in time"
    assert sum(method == "POST" for method, _ in fake.requests) > 3
