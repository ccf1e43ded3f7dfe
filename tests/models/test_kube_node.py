"""A recorded node and its kubelet's settings as a profile; a recorded pod as what was granted."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from infranoise.models.kube_node import boot, profile
from infranoise.models.kube_pod import kube_pod, seconds
from infranoise.models.kube_quantity import quantity
from infranoise.models.node import NodeProfile

GOLDEN = Path(__file__).parents[1] / "golden" / "kubernetes"
GIB = 1 << 30
INSIDE = {"proc/cpuinfo": "processor\t: 0\nmodel name\t: Fast One\n\nprocessor\t: 1\n",
          "memory.events": "oom_kill 0\n", "memory.oom.group": "1\n"}  # fmt: skip


def recorded(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text())  # type: ignore[no-any-return]


def test_a_node_is_what_its_object_its_kubelet_and_a_pod_on_it_tell() -> None:
    found = profile(recorded("node"), recorded("kubelet-configz"), INSIDE)
    assert (found.architecture, found.kernel, found.cpu_threads) == ("amd64", "6.18.44", 2)
    assert found.runtimes == {"kubelet": "v1.36.2", "containerd": "1.6.20"}
    assert (found.cpu_model, found.cgroup_version) == ("Fast One", 2)
    cluster = found.cluster
    assert cluster is not None
    assert cluster.allocatable_cpus == 1.5
    assert cluster.allocatable_memory_bytes == 11896384 // 1024 << 20
    assert (cluster.oom_group, cluster.cpus_seen, cluster.allocatable_pods) == (True, 2, 110)
    assert cluster.kubelet is not None
    assert cluster.kubelet["cpuManagerPolicy"] == "none"
    assert cluster.kubelet["evictionHard.memory.available"] == "200Mi"
    assert "singleProcessOOMKill" not in cluster.kubelet  # not said: not known


def test_what_may_not_be_read_is_not_known_and_nothing_else_is_missing() -> None:
    found = profile(recorded("node"))
    assert found.cluster is not None
    assert (found.cluster.kubelet, found.cluster.oom_group, found.cgroup_version) == (None,) * 3


def test_where_the_api_tells_nothing_a_pod_inside_still_does() -> None:
    found = profile({}, None, INSIDE | {"proc/version": "Linux version 6.9.1 (me) #1\n"})
    assert (found.kernel, found.cpu_model, found.architecture) == ("6.9.1", "Fast One", "unknown")


def test_equal_machines_have_equal_profiles_whatever_their_names_and_boots() -> None:
    one, other = recorded("node"), recorded("node")
    other["metadata"]["name"] = other["metadata"]["labels"]["kubernetes.io/hostname"] = "node-2"
    other["status"]["nodeInfo"]["bootID"] = "another"
    other["status"]["allocatable"]["memory"] = "11896300Ki"  # a kernel's appetite
    assert profile(one).profile_hash == profile(other).profile_hash
    assert boot(one) != boot(other)
    other["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "m7i.large"
    assert profile(one).profile_hash != profile(other).profile_hash


def test_the_hash_of_a_machine_of_no_cluster_is_what_it_was_before_there_were_clusters() -> None:
    plain = NodeProfile(architecture="x86_64", kernel="6.1")
    assert plain.profile_hash == "67818d488de3c482"


def test_what_a_cluster_gave_a_pod_is_read_from_its_last_object() -> None:
    record = recorded("termination-evidence-ok")
    found = kube_pod(record["pod"], record["events"])
    assert (found.node, found.qos_class, found.priority) == ("node-1", "Burstable", 0)
    assert found.image_id.startswith("sha256:0f8c0fc5")
    assert found.container_id.startswith("containerd://2994")
    assert found.resources == {"limits": {"cpu": "500m", "memory": "64Mi"},
                               "requests": {"cpu": "100m", "memory": "64Mi"}}  # fmt: skip
    assert found.scheduled_at == found.accepted_at == found.started_at is not None
    assert found.pull_s == 0.0  # it was there


@pytest.mark.parametrize(
    ("words", "pull_s"),
    [("1.5s (2.1s including waiting)", 1.5), ("431ms (431ms including waiting)", 0.431),
     ("2m3.5s (2m4s including waiting). Image size: 1 bytes.", 123.5)],
)  # fmt: skip
def test_the_seconds_of_a_pull_are_read_from_its_event(words: str, pull_s: float) -> None:
    pod = recorded("passed")["pod"]
    event = {"reason": "Pulled", "message": f'Successfully pulled image "i:1" in {words}'}
    assert kube_pod(pod, [event]).pull_s == pull_s
    assert kube_pod(pod).pull_s is None


def test_a_pod_that_never_came_to_a_node_has_no_node_and_no_times() -> None:
    found = kube_pod(recorded("unschedulable-memory")["pod"])
    assert (found.node, found.scheduled_at, found.image_id, found.resources) == ("", None, "", None)
    assert found.created_at


def test_what_is_no_duration_is_none() -> None:
    assert seconds("") is seconds("soon") is None


QUANTITIES = {"64Mi": 64 << 20, "1e3": 1000, "250m": Decimal("0.25"), "5": 5, "2G": 2 * 10**9,
              "100n": Decimal("0.0000001"), "0": 0}  # fmt: skip


@pytest.mark.parametrize("text", QUANTITIES)
def test_a_quantity_is_read_as_the_api_means_it(text: str) -> None:
    assert quantity(text) == QUANTITIES[text]


def test_what_is_no_quantity_is_refused() -> None:
    for text in ("", "Mi", "1x", "1 Mi"):
        with pytest.raises(ValueError, match="no quantity"):
            quantity(text)
