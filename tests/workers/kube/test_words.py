"""A pod's order as a manifest, and the API's words as limits."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from kube_store import qos_class

from infranoise.models.limits import Limits
from infranoise.workers.pods.kubernetes import limits as limits_in_force
from infranoise.workers.pods.kubernetes import words
from infranoise.workers.pods.kubernetes.limits import surprises
from infranoise.workers.pods.kubernetes.words import Shape
from infranoise.workers.pods.pod import PodOrder

MIB = 1 << 20


def order(**more: Any) -> PodOrder:
    values: dict[str, Any] = {
        "attempt_id": "e.t.1", "experiment": "e", "trial": "t", "environment": Path("/none"),
        "environment_hash": "sha256:abc", "limits": Limits(), "expires_at": time.time() + 60,
        "image": "task@sha256:1",
    }  # fmt: skip
    return PodOrder(**(values | more))


BANDS = {
    "1x": Limits(memory_floor_bytes=MIB, memory_ceiling_bytes=MIB, cpu_floor=1, cpu_ceiling=1),
    "3x": Limits(memory_floor_bytes=MIB, memory_ceiling_bytes=3 * MIB, cpu_floor=1, cpu_ceiling=1),
    "uncapped": Limits(memory_floor_bytes=MIB, cpu_floor=1),
    "a ceiling alone": Limits(memory_ceiling_bytes=MIB, cpu_ceiling=1),
    "nothing": Limits(),
}


@pytest.mark.parametrize("band", BANDS)
def test_with_constant_qos_every_band_is_burstable_so_that_only_the_ceiling_moves(
    band: str,
) -> None:
    assert qos_class([{"resources": words.resources(BANDS[band])}]) == "Burstable"


def test_with_natural_qos_a_strict_band_is_guaranteed() -> None:
    asked = words.resources(BANDS["1x"], "natural")
    assert qos_class([{"resources": asked}]) == "Guaranteed"


def test_a_ceiling_alone_makes_no_floor() -> None:
    assert words.resources(BANDS["a ceiling alone"])["requests"]["memory"] == "0"


def test_the_pod_is_bare_never_restarted_without_rights_and_named_by_its_attempt() -> None:
    asked, shape = order(), Shape(namespace="n", owner="o", worker="w")
    made = words.manifest(asked, shape, time.time())
    spec = made["spec"]
    assert made["kind"] == "Pod"
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is spec["enableServiceLinks"] is False
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID"} & set(spec)
    assert made == words.manifest(asked, shape, time.time())
    assert spec["activeDeadlineSeconds"] > 60 + 3000


def test_the_pod_bears_what_protects_it_and_what_finds_it_again() -> None:
    asked, shape = order(), Shape(namespace="n", owner="o", worker="w", service_account="trial")
    made = words.manifest(asked, shape, time.time())
    spec, (container,) = made["spec"], made["spec"]["containers"]
    assert (spec["serviceAccountName"], spec["terminationGracePeriodSeconds"]) == ("trial", 5)
    assert container["imagePullPolicy"] == "IfNotPresent"
    assert container["terminationMessagePolicy"] == "File"  # a tail of a log is no report
    assert container["securityContext"] == {"allowPrivilegeEscalation": False}
    told, labels = made["metadata"]["annotations"], made["metadata"]["labels"]
    assert told["karpenter.sh/do-not-disrupt"] == "true"
    assert told["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert (told["infranoise.dev/owner"], labels["infranoise.dev/worker"]) == ("o", "w")
    assert labels["infranoise.dev/expires-at"] == str(round(asked.expires_at))
    assert (labels["infranoise.dev/run"], labels["infranoise.dev/attempt"]) == ("e", "e.t.1")


NAMES = ["a", "A_b-c.d", "-x-", "x.", "..", "_", "a/b:c", " ", "\n", "é" * 70, "a" * 63, "a" * 64]
VALUE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


@pytest.mark.parametrize("name", NAMES)
def test_names_and_labels_are_such_as_the_api_takes(name: str) -> None:
    made = words.manifest(order(attempt_id=name, experiment=name), Shape(worker=name), 0.0)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{0,61}[a-z0-9]", made["metadata"]["name"])
    assert all(VALUE.fullmatch(value) for value in made["metadata"]["labels"].values())
    assert made["metadata"]["annotations"]["infranoise.dev/attempt"] == name


def test_attempts_have_names_of_their_own() -> None:
    assert words.pod_name(order()) != words.pod_name(order(attempt_id="e.t.2"))


def test_an_image_is_named_by_the_task_or_by_prefix_and_environment() -> None:
    assert words.image_of(order(), Shape(image_prefix="r/env")) == "task@sha256:1"
    assert words.image_of(order(image=None), Shape(image_prefix="r/env")) == "r/env:abc"
    assert words.image_of(order(image=None), Shape()) is None


def test_a_limit_range_that_caps_the_uncapped_band_is_seen() -> None:
    asked = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {}}
    got = {"requests": {"cpu": "0.1", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
    assert surprises(asked, got) == ("memory limits: asked None, admitted 256Mi",)
    assert surprises(asked, asked) == ()
    less = asked | {"requests": {"cpu": "100m", "memory": "32Mi"}}
    assert surprises(asked, less) == ("memory requests: asked 64Mi, admitted 32Mi",)


V1 = {"memory/memory.limit_in_bytes": "67108864\n", "pids/pids.max": "4096\n",
      "cpu/cpu.shares": "512\n", "cpu/cpu.cfs_quota_us": "-1\n",
      "cpu/cpu.cfs_period_us": "100000\n"}  # fmt: skip
V2 = {"memory.events": "oom_kill 0\n", "memory.max": "67108864\n", "pids.max": "4096\n",
      "memory.oom.group": "1\n", "cpu.max": "150000 100000\n", "cpu.weight": "20\n"}  # fmt: skip


def running(limits: Limits) -> dict[str, Any]:
    container = {"name": "main", "resources": words.resources(limits)}
    return {"spec": {"containers": [container]}, "status": {}}


def test_what_the_kubelet_decides_otherwise_is_told() -> None:
    limits = Limits(memory_ceiling_bytes=64 * MIB, oom_scope="pod", pids=77)
    got = limits_in_force.effective(running(limits), V1, limits)
    assert got.differs == (
        "pids: asked 77, in force 4096",
        "oom_scope: asked pod, in force process",
    )
    grouped = limits_in_force.effective(running(limits), V2, Limits(memory_ceiling_bytes=64 * MIB))
    assert grouped.oom_scope == "pod"
    assert "oom_scope: asked process, in force pod" in grouped.differs


def test_a_ceiling_that_the_pod_does_not_see_is_told() -> None:
    limits = Limits(memory_ceiling_bytes=32 * MIB)
    got = limits_in_force.effective(running(limits), V1, limits)
    assert any("the pod sees 67108864" in one for one in got.differs)
