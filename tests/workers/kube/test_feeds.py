"""Nodes and events under one watch each: as they were then, also when they are gone now."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kube_api import FakeApi
from kube_wait import until

from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.events import Events
from infranoise.workers.pods.kubernetes.nodes import Nodes
from infranoise.workers.pods.kubernetes.profiles import Profiles

Json = dict[str, Any]


def ready(fake: FakeApi, node: Json, status: str) -> None:
    conditions = [{"type": "Ready", "status": status}]
    fake.store.patch("nodes", "", node["metadata"]["name"], {"spec": {"marked": status}})
    with fake.store.lock:
        found = fake.store.get("nodes", "", node["metadata"]["name"])
        found["status"]["conditions"] = conditions
        fake.store._put("MODIFIED", "nodes", found)


def event(fake: FakeApi, uid: str, reason: str, kind: str = "Pod") -> None:
    body = {
        "metadata": {"name": f"{uid}.{reason}".lower()},
        "involvedObject": {"kind": kind, "uid": uid, "name": uid},
        "type": "Warning",
        "reason": reason,
        "message": "as told",
    }
    fake.store.create("events", "trials", body)


@pytest.fixture
def nodes(fake: FakeApi, api: Api, node: Json) -> Iterator[Nodes]:
    fake.store.create("nodes", "", node)
    made = Nodes(api)
    made.feed.start()
    assert made.feed.wait(10)
    fake.wait_for_watch()
    yield made
    made.feed.stop()


def test_a_node_that_fell_silent_and_came_back_is_known_to_have_been_lost(
    fake: FakeApi, nodes: Nodes, node: Json
) -> None:
    before = time.time()
    ready(fake, node, "Unknown")
    until(lambda: nodes.seen("node-1").ready == "unknown")
    ready(fake, node, "True")
    until(lambda: nodes.seen("node-1").ready == "yes")
    assert nodes.seen("node-1", before).lost
    assert not nodes.seen("node-1", time.time() + 3600).lost  # long after, it is no excuse


def test_a_node_that_was_removed_is_gone_also_when_nobody_was_told(
    fake: FakeApi, nodes: Nodes
) -> None:
    fake.fall_silent()
    fake.store.delete("nodes", "", "node-1")
    fake.expire_watches()
    fake.fall_silent(False)
    until(lambda: nodes.seen("node-1").exists == "no")
    assert nodes.objects() == ()
    assert nodes.seen("never-heard-of").exists == "no"


def test_what_is_kept_of_a_node_is_what_is_read_of_it(nodes: Nodes) -> None:
    (kept,) = nodes.objects()
    assert set(kept["status"]) == {"capacity", "allocatable", "conditions", "nodeInfo"}
    assert nodes.object("node-1") == kept


def test_what_a_node_is_is_read_in_a_pod_once_for_each_boot(
    fake: FakeApi, api: Api, nodes: Nodes
) -> None:
    reads: list[str] = []

    def read() -> str:
        reads.append("once")
        return "== /proc/cpuinfo\nmodel name : quick\n"

    profiles = Profiles(api, nodes)
    assert profiles.of("node-1", read) is profiles.of("node-1", read)
    with fake.store.lock:
        found = fake.store.get("nodes", "", "node-1")
        found["status"]["nodeInfo"]["bootID"] = "another"
        fake.store._put("MODIFIED", "nodes", found)
    until(lambda: nodes.objects()[0]["status"]["nodeInfo"]["bootID"] == "another")
    assert profiles.of("node-1", read).cpu_model == "quick"
    assert len(reads) == 2


def test_where_nodes_may_not_be_watched_they_are_asked_for_or_unknown(
    fake: FakeApi, api: Api, node: Json
) -> None:
    fake.store.create("nodes", "", node)
    fake.allowed = {("nodes", "get")}
    made = Nodes(api)
    made.feed.start()
    assert not made.feed.wait(10)
    assert made.seen("node-1").exists == "yes"
    fake.allowed = set()
    assert made.seen("node-1").exists == "unknown"
    assert made.object("node-1") is None


def test_events_are_kept_by_pod_and_outlive_the_cluster_s_own_memory(
    fake: FakeApi, api: Api
) -> None:
    told: list[Json] = []
    events = Events(api, "trials", told.append)
    event(fake, "a", "FailedMount")
    events.feed.start()
    assert events.feed.wait(10)
    fake.wait_for_watch()
    event(fake, "b", "Preempted")
    event(fake, "node", "Rebooted", kind="Node")
    until(lambda: bool(events.of("b")))
    fake.store.delete("events", "trials", "a.failedmount")
    fake.expire_watches()
    event(fake, "b", "Killing")
    until(lambda: len(events.of("b")) == 2)
    assert [one["reason"] for one in events.of("a")] == ["FailedMount"]
    assert events.of("node") == []
    assert len(told) >= 3


def test_where_events_may_not_be_read_there_are_none_and_nobody_asks_twice(
    fake: FakeApi, api: Api
) -> None:
    fake.allowed = set()
    events = Events(api, "trials")
    events.feed.start()
    assert not events.feed.wait(10)
    asked = len(fake.requests)
    assert events.of("a") == []
    assert len(fake.requests) == asked
