"""Nothing is left behind: runs own their pods, the sweep finishes what a dead worker began."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kube_api import FakeApi
from kube_replay import ReplayKubelet, buries
from kube_wait import until
from kubernetes import client

from infranoise.models.errors import PodError, PodLost, StartFailed
from infranoise.models.kube_reading import Transition
from infranoise.models.limits import Limits
from infranoise.models.seating import ClusterPods, Seat
from infranoise.workers.pods.kubernetes import runs
from infranoise.workers.pods.kubernetes.api import Api, Ask
from infranoise.workers.pods.kubernetes.cluster import CREATES, Cluster
from infranoise.workers.pods.kubernetes.diary import Diary
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import PodOrder

QUICK = 0.002
DEAD = "boot:1:2:3"
Json = dict[str, Any]


@pytest.fixture
def pods(fake: FakeApi, api: Api, tmp_path: Path) -> Iterator[KubernetesPods]:
    made = KubernetesPods(Shape(namespace="trials"), api=api, diary=tmp_path)
    yield made
    made.close()


def seat(**asked: Any) -> Seat:
    return Seat(asked=ClusterPods.model_validate({"schedule_timeout_s": 0.3} | asked))


def order(**more: Any) -> PodOrder:
    values: dict[str, Any] = {
        "attempt_id": "e.t.1", "experiment": "e", "trial": "t", "environment": Path("/none"),
        "environment_hash": "sha256:abc", "limits": Limits(), "expires_at": time.time() + 60,
        "image": "task:1", "seat": seat(), "build_timeout_s": 0.6, "start_timeout_s": 0.0,
    }  # fmt: skip
    return PodOrder(**(values | more))


def failed(pods: KubernetesPods, **more: Any) -> None:
    """A pod that did not come up, whose worker did not remove it."""
    with pytest.raises(PodError):
        pods.pod(order(**more)).start()


def test_every_pod_of_a_run_is_owned_by_the_run_s_one_config_map(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    failed(pods)
    failed(pods, attempt_id="e.t.2")
    (owner,) = fake.store.all_of("configmaps", "trials")
    assert owner["data"] == {"experiment": "e"}
    for pod in fake.store.all_of("pods", "trials"):
        (reference,) = pod["metadata"]["ownerReferences"]
        assert (reference["kind"], reference["uid"]) == ("ConfigMap", owner["metadata"]["uid"])
        assert "blockOwnerDeletion" not in reference


def test_an_owner_that_went_is_made_anew_before_the_next_pod(
    fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = runs.Runs(api, "trials")
    first = held.owner("e")
    assert held.owner("e") == first  # known, and not asked for again
    assert runs.Runs(api, "trials").owner("e").uid == first.uid  # another worker's
    fake.store.delete("configmaps", "trials", first.name)
    monkeypatch.setattr(runs, "LOOK_AGAIN_S", 0.0)
    assert held.owner("e").uid != first.uid
    assert held.remove("e")
    assert not held.remove("e")


def test_without_the_right_to_config_maps_pods_have_no_owner_and_run_all_the_same(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    fake.allowed = {("pods", verb) for verb in ("create", "get", "list", "watch", "delete")}
    failed(pods)
    (pod,) = fake.store.all_of("pods", "trials")
    assert "ownerReferences" not in pod["metadata"]


def test_a_finalizer_holds_the_object_until_its_evidence_is_read_and_no_longer(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    held = seat(evidence_finalizer=True)
    pod = pods.pod(order(seat=held))
    with pytest.raises(StartFailed):
        pod.start()
    (made,) = fake.store.all_of("pods", "trials")
    fake.store.delete("pods", "trials", made["metadata"]["name"], grace_s=0)
    assert len(fake.store.all_of("pods", "trials")) == 1
    pod.stop()
    assert fake.store.all_of("pods", "trials") == []
    kube = pod.ending()
    assert kube is not None
    assert kube.ended_as == "StartError"


def test_only_our_own_finalizer_is_taken_off(fake: FakeApi, pods: KubernetesPods) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    fake.store.admit.append(lambda pod: pod["metadata"]["finalizers"].append("audit.example/log"))
    pod = pods.pod(order(seat=seat(evidence_finalizer=True)))
    with pytest.raises(StartFailed):
        pod.start()
    (made,) = fake.store.all_of("pods", "trials")
    pods._cluster.release(made["metadata"]["name"], made["metadata"]["uid"])
    (held,) = fake.store.all_of("pods", "trials")
    assert held["metadata"]["finalizers"] == ["audit.example/log"]


@pytest.fixture
def impatient(fake: FakeApi, tmp_path: Path) -> Iterator[KubernetesPods]:
    """Pods of a worker that waits for no API, and looks after what it left very soon."""
    api = Api(client.Configuration(host=fake.url), patience_s=0.0)
    made = KubernetesPods(Shape(namespace="trials"), api=api, diary=tmp_path, leftovers_s=0.05)
    yield made
    made.close()


def test_a_pod_that_was_made_though_nobody_said_so_is_removed(
    fake: FakeApi, impatient: KubernetesPods
) -> None:
    buries(fake.store)
    fake.loses_answers = 1
    with pytest.raises(StartFailed, match="the answer was lost"):
        impatient.pod(order()).start()
    until(lambda: fake.store.all_of("pods", "trials") == [])


def test_a_pod_that_could_not_be_removed_is_told_to_go_again(
    fake: FakeApi, impatient: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    buries(fake.store)
    pod = impatient.pod(order())
    with pytest.raises(StartFailed):
        pod.start()
    everything = {("pods", verb) for verb in ("list", "watch", "get", "delete")}
    fake.allowed = everything - {("pods", "delete")}
    with pytest.raises(PodLost, match="stays"):
        pod.stop()
    fake.allowed = everything
    until(lambda: fake.store.all_of("pods", "trials") == [])
    kube = pod.ending()
    assert kube is not None
    assert kube.ended_as == "StartError"


def test_a_pod_of_the_same_name_and_another_uid_is_not_ours_to_delete(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    body = {"metadata": {"name": "p"}, "spec": {"containers": []}}
    made = fake.store.create("pods", "trials", body)
    pods._cluster.delete("p", "another")
    assert len(fake.store.all_of("pods", "trials")) == 1
    pods._cluster.delete("p", made["metadata"]["uid"], grace_s=0)
    assert fake.store.all_of("pods", "trials") == []


def test_few_creates_are_in_flight_at_once(fake: FakeApi) -> None:
    class Counting(Api):
        now = most = 0
        lock = threading.Lock()

        def ask(self, ask: Ask, *, patience_s: float | None = None) -> Json:
            with self.lock:
                self.now += 1
                self.most = max(self.most, self.now)
            try:
                return super().ask(ask, patience_s=patience_s)
            finally:
                with self.lock:
                    self.now -= 1

    api = Counting(client.Configuration(host=fake.url))
    cluster = Cluster(api, "trials")
    bodies = [{"metadata": {"name": f"p-{n}"}, "spec": {"containers": []}} for n in range(60)]
    with ThreadPoolExecutor(60) as pool:
        list(pool.map(lambda body: cluster.create(body, 1.0), bodies))
    assert len(fake.store.all_of("pods", "trials")) == 60
    assert 1 <= api.most <= CREATES


def test_a_pod_that_is_stopped_while_it_is_made_is_removed_all_the_same(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    buries(fake.store)
    pod = pods.pod(order())
    pod.stop()  # by whoever withdraws an attempt that has no pod yet
    with pytest.raises(StartFailed):
        pod.start()
    pod.stop()
    assert fake.store.all_of("pods", "trials") == []


def test_a_slot_is_given_back_whether_its_pod_was_made_or_not(
    fake: FakeApi, pods: KubernetesPods
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    buries(fake.store)
    alone = seat(pods_per_node=1)
    for number, full in enumerate((False, True)):
        fake.quota_full = full
        pod = pods.pod(order(seat=alone, attempt_id=f"e.t.{number}"))
        with pytest.raises(PodError):
            pod.start()
        pod.stop()
    assert pods._cluster.berths._taken.total() == 0


def test_the_sweep_keeps_the_object_then_deletes_it_finalizer_and_all(
    fake: FakeApi, pods: KubernetesPods, tmp_path: Path
) -> None:
    ReplayKubelet(fake.store, "start-failed", QUICK)
    failed(pods, seat=seat(evidence_finalizer=True))
    assert pods.reap(now=time.time()) == ()  # its worker lives, and its time is not over
    assert pods.reap(now=time.time() + 3600) == ("e.t.1",)
    assert fake.store.all_of("pods", "trials") == []
    (diary,) = tmp_path.iterdir()
    rows = [json.loads(line) for line in diary.read_text().splitlines()]
    (swept,) = (row for row in rows if row["what"] == "SWEPT")
    assert swept["object"]["status"]["containerStatuses"]
    told = [row["what"] for row in rows if row["what"] in ("SWEPT", "INTENT")]
    assert told == ["SWEPT", "INTENT"]


def written(folder: Path, *rows: Json) -> Path:
    """The diary of a worker that is no more; its last line broken off."""
    text = "".join(json.dumps(row) + "\n" for row in ({"what": "WORKER", "owner": DEAD}, *rows))
    path = folder / "1-1.jsonl"
    path.write_text(text + '{"what": "INT')
    return path


def test_what_a_dead_worker_meant_to_delete_is_read_back_and_done(
    fake: FakeApi, pods: KubernetesPods, tmp_path: Path
) -> None:
    ReplayKubelet(fake.store, "unschedulable-selector", QUICK)
    failed(pods)
    failed(pods, attempt_id="e.t.2")
    one, _ = (pod["metadata"] for pod in fake.store.all_of("pods", "trials"))
    written(
        tmp_path,
        {"what": "INTENT", "uid": one["uid"], "name": one["name"]},
        {"what": "INTENT", "uid": "done", "name": "done"},
        {"what": "DELETED", "uid": "done", "name": "done"},
    )
    assert Diary(tmp_path).unfinished() == {one["uid"]: one["name"]}
    (removed,) = pods.reap(now=time.time())
    assert removed == one["annotations"]["infranoise.dev/attempt"]
    assert len(fake.store.all_of("pods", "trials")) == 1


def test_a_living_worker_s_intents_are_its_own_affair(tmp_path: Path) -> None:
    living = Diary(tmp_path)
    living.intent("cleanup", "u", "n")
    assert Diary(tmp_path).unfinished() == {}
    living.close()
    assert Diary(tmp_path).unfinished() == {"u": "n"}


def test_diaries_of_workers_long_gone_are_removed_and_others_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Diary(tmp_path)
    mine.transition(Transition(kind="ADDED", pod={}))
    old = written(tmp_path)
    mine.tidy()
    assert old.exists()
    monkeypatch.setattr("infranoise.workers.pods.kubernetes.diary.KEPT_S", -1.0)
    mine.tidy()
    assert not old.exists()
    assert len(list(tmp_path.iterdir())) == 1
