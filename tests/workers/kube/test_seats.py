"""Where pods go: what an experiment asks of a cluster, held against a scheduler's double."""

import copy
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from kube_scheduler import Scheduler
from kube_store import Store

from infranoise.models.limits import Limits
from infranoise.models.seating import ClusterPods, Seat, dealt
from infranoise.workers.pods.kubernetes import seats, words
from infranoise.workers.pods.kubernetes.berths import Berths
from infranoise.workers.pods.kubernetes.words import Place, Shape
from infranoise.workers.pods.pod import PodOrder

Json = dict[str, Any]
NODES = ("node-a", "node-b", "node-c")
BANDS = ("1x", "3x", "uncapped")


@pytest.fixture
def store(node: Json) -> Store:
    """Three equal nodes."""
    made = Store()
    made.create("namespaces", "", {"metadata": {"name": "trials"}})
    for name in NODES:
        one = copy.deepcopy(node)
        one["metadata"] = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        made.create("nodes", "", one)
    return made


def seat(turn: int, shuffle: str, **asked: Any) -> Seat:
    pods = ClusterPods.model_validate(asked)
    return Seat(asked=pods, band=BANDS[turn % 3], shuffle=shuffle, turn=turn % 3, of=3)


def make(store: Store, place: Seat, slot: int | None = None, **more: Any) -> Json:
    """Make the pod of a seat, as a worker would."""
    open_nodes = [
        one["metadata"]["name"] for one in store.all_of("nodes") if seats.open_to(one, place.asked)
    ]
    order = PodOrder(
        attempt_id=f"t.{time.monotonic_ns()}", experiment="e", trial="t",
        environment=Path("/none"), environment_hash="sha256:abc", limits=Limits(),
        expires_at=time.time() + 60, image="task:1", seat=place, **more,
    )  # fmt: skip
    where = Place(slot=slot, dealt=dealt(open_nodes, place))
    return store.create(
        "pods", "trials", words.manifest(order, Shape(namespace="trials"), 0, where)
    )


def bands_on(scheduler: Scheduler) -> dict[str, Counter[str]]:
    return {
        node: Counter(pod["metadata"]["labels"]["infranoise.dev/band"] for pod in pods)
        for node, pods in scheduler.bound().items()
    }


def test_the_bands_of_each_block_go_to_different_nodes_and_over_blocks_to_all(store: Store) -> None:
    scheduler = Scheduler(store)
    for block in range(30):
        for turn in range(3):
            make(store, seat(turn, f"block {block}"))
    found = bands_on(scheduler)
    assert {node: sum(bands.values()) for node, bands in found.items()} == dict.fromkeys(NODES, 30)
    assert all(bands[band] >= 4 for bands in found.values() for band in BANDS)


def test_isolated_bands_never_share_a_node_and_move_from_wave_to_wave(store: Store) -> None:
    scheduler, homes = Scheduler(store), set()
    for wave in range(12):
        made = [make(store, seat(turn, f"wave {wave}", isolate="band")) for turn in range(9)]
        found = bands_on(scheduler)
        assert all(len(bands) == 1 for bands in found.values())
        homes |= {(node, band) for node, bands in found.items() for band in bands}
        for pod in made:
            store.delete("pods", "trials", pod["metadata"]["name"], grace_s=0)
    assert len(homes) == len(NODES) * len(BANDS)


def test_no_node_holds_more_pods_than_asked_for_and_none_is_left_empty(store: Store) -> None:
    scheduler, berths = Scheduler(store), Berths()
    for number in range(8):
        make(store, seat(number, f"b {number}", pods_per_node=2), berths.take(2))
    held = {node: len(pods) for node, pods in scheduler.bound().items()}
    assert held == dict.fromkeys(NODES, 2)
    first = next(pod for pod in store.all_of("pods") if pod["spec"].get("nodeName"))
    store.delete("pods", "trials", first["metadata"]["name"], grace_s=0)
    assert {node: len(pods) for node, pods in scheduler.bound().items()} == held


def test_numbers_are_given_out_evenly_and_taken_back() -> None:
    berths = Berths()
    taken = [berths.take(3) for _ in range(7)]
    assert Counter(taken) == {0: 3, 1: 2, 2: 2}
    berths.give_back(3, 1)
    berths.give_back(3, 1)
    assert [berths.take(3), berths.take(3)] == [1, 1]
    assert berths.take(None) is None


def test_a_pool_with_a_taint_takes_pods_that_bear_it_and_a_selector_chooses(store: Store) -> None:
    scheduler = Scheduler(store)
    with store.lock:
        for name in NODES[:2]:
            one = store.get("nodes", "", name)
            one["spec"]["taints"] = [{"key": "pool", "value": "trials", "effect": "NoSchedule"}]
            one["metadata"]["labels"]["class"] = name
            store._put("MODIFIED", "nodes", one)
    for number in range(4):
        make(store, seat(number, f"plain {number}"))
    assert set(scheduler.bound()) == {"node-c"}
    asked = {"tolerations": ["pool=trials:NoSchedule"], "node_selector": {"class": "node-b"}}
    made = [make(store, seat(number, f"chosen {number}", **asked)) for number in range(4)]
    homes = {store.get("pods", "trials", p["metadata"]["name"])["spec"]["nodeName"] for p in made}
    assert homes == {"node-b"}


def test_nodes_that_take_no_pods_now_are_not_dealt(node: Json) -> None:
    asked = ClusterPods()
    assert seats.open_to(node, asked)
    assert not seats.open_to(node | {"spec": {"unschedulable": True}}, asked)
    silent = {"conditions": [{"type": "Ready", "status": "Unknown"}]}
    assert not seats.open_to(node | {"status": silent}, asked)
    taint = {"key": "gone", "effect": "PreferNoSchedule"}
    assert seats.open_to(node | {"spec": {"taints": [taint]}}, asked)
    hard = node | {"spec": {"taints": [{"key": "gone", "effect": "NoExecute"}]}}
    for toleration, taken in {
        "gone": True,
        "gone:NoExecute": True,
        "gone:NoSchedule": False,
    }.items():
        assert seats.open_to(hard, ClusterPods(tolerations=(toleration,))) is taken


def test_what_an_experiment_asks_stands_in_the_pod(store: Store) -> None:
    asked = {"runtime_class": "gvisor", "priority_class": "trials", "run_as_user": 0,
             "qos": "natural", "evidence_finalizer": True}  # fmt: skip
    made = make(store, seat(0, "s", **asked))
    spec = made["spec"]
    assert (spec["runtimeClassName"], spec["priorityClassName"]) == ("gvisor", "trials")
    assert spec["containers"][0]["securityContext"]["runAsUser"] == 0
    assert made["metadata"]["finalizers"] == ["infranoise.dev/evidence"]


def test_no_secret_of_a_task_stands_in_the_object(store: Store) -> None:
    made = make(store, seat(0, "s"), env={"API_KEY": "hunter2"})
    assert "hunter2" not in json.dumps(made)
    assert "API_KEY" not in json.dumps(made)
