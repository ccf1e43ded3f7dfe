"""`doctor --kubernetes`: what is wished for is tried out, and each finding has its remedy."""

import json
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn

import docker
import pytest
from docker.errors import DockerException
from kube_api import FakeApi
from kube_kubelet import DockerKubelet
from kube_replay import ReplayKubelet, buries

from infranoise.cli.doctor import doctor_of_a_cluster
from infranoise.models.errors import Refused
from infranoise.models.limits import Limits
from infranoise.workers.doctor_check import Check
from infranoise.workers.pods.kubernetes import probes
from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.doctor import checks
from infranoise.workers.pods.kubernetes.pods import KubernetesPods
from infranoise.workers.pods.kubernetes.rights import RIGHTS
from infranoise.workers.pods.kubernetes.words import Shape

IMAGE = "python:3.12-slim"
GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
HERE = Shape(namespace="trials")
Json = dict[str, Any]


def asked(api: Api) -> dict[str, Check]:
    """The findings without probe pods."""
    return {check.name: check for check in checks(api, HERE, None)}


def test_a_cluster_with_all_rights_and_nothing_in_the_way_is_well(api: Api) -> None:
    found = asked(api)
    assert {name: check.status for name, check in found.items()} == {
        "cluster": "ok", "clock": "ok", "rights that must be": "ok", "rights for evidence": "ok",
        "admission": "ok", "probe pods": "warn",
    }  # fmt: skip
    assert "v1.36.2" in found["cluster"].found


def test_a_cluster_that_is_away_is_the_only_finding(fake: FakeApi, api: Api) -> None:
    fake.storm.extend([(503, None)] * 60)
    (found,) = asked(api).values()
    assert (found.name, found.status) == ("cluster", "fail")
    assert "KUBECONFIG" in found.remedy


def test_missing_rights_are_named_with_what_is_lost_without_them(fake: FakeApi, api: Api) -> None:
    fake.allowed = {(r.resource, r.verb) for r in RIGHTS} - {
        ("pods/exec", "create"), ("events", "watch"), ("nodes/proxy", "get")}  # fmt: skip
    found = asked(api)
    assert found["rights that must be"].status == "fail"
    assert "create pods/exec" in found["rights that must be"].found
    assert "rights.yaml" in found["rights that must be"].remedy
    assert (found["rights for evidence"].status, found["further rights"].status) == ("warn", "ok")


def test_a_limit_range_is_found_by_what_it_does_to_each_band_and_no_pod_is_made(
    fake: FakeApi, api: Api
) -> None:
    def cap(pod: Json) -> None:
        resources = pod["spec"]["containers"][0]["resources"]
        resources.setdefault("limits", {}).setdefault("memory", "256Mi")

    fake.store.admit.append(cap)
    found = asked(api)["admission"]
    assert found.status == "fail"
    assert found.found == "uncapped: memory limits: asked None, admitted 256Mi"
    assert fake.store.all_of("pods") == []


def test_a_namespace_that_is_not_there_is_found(fake: FakeApi, api: Api) -> None:
    (found,) = (
        one for one in checks(api, Shape(namespace="absent"), None) if one.name == "admission"
    )
    assert (found.status, found.found) == ("fail", "there is no namespace 'absent'")
    assert "INFRANOISE_KUBERNETES_NAMESPACE" in found.remedy


def test_a_full_quota_is_found_by_asking_for_a_pod(fake: FakeApi, api: Api) -> None:
    fake.quota_full = True
    found = asked(api)["admission"]
    assert found.status == "fail"
    assert "exceeded quota" in found.found
    assert "raise the quota" in found.remedy


def test_a_clock_that_is_off_is_told(fake: FakeApi, api: Api) -> None:
    fake.clock_ahead_s = 90.0
    found = asked(api)["clock"]
    assert found.status == "warn"
    assert "+9" in found.found or "+8" in found.found


@pytest.fixture
def kubelet(
    fake: FakeApi, node: Json, missing: Callable[[str], NoReturn]
) -> Iterator[DockerKubelet]:
    try:
        engine = docker.from_env()
        engine.images.get(IMAGE)
        engine.close()
    except DockerException as problem:
        missing(f"a Docker engine with {IMAGE} ({problem})")
    made = DockerKubelet(fake, node, network="bridge")
    yield made
    made.close()


@pytest.mark.docker
def test_probe_pods_find_what_is_enforced_and_leave_nothing(
    fake: FakeApi,
    kubelet: DockerKubelet,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps(fake.kubeconfig()))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("INFRANOISE_KUBERNETES_NAMESPACE", "trials")
    monkeypatch.setattr(probes, "FLOOD_BYTES", 16 << 20)
    monkeypatch.setattr(probes, "SAMPLES", 4)
    kubelet.walls = True
    assert doctor_of_a_cluster(IMAGE, as_json=True) == 0
    found = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    assert found["limits"]["status"] == "ok"
    assert "counted in the pod; the victim alone dies" in found["memory ceiling"]["found"]
    assert found["network policy"]["status"] == "ok"
    assert found["bandwidth cap"]["status"] == "warn"  # no plugin shapes a container of Docker's
    for kind in ("pods", "networkpolicies", "configmaps"):
        assert fake.store.all_of(kind) == []
    assert kubelet.containers() == []


@pytest.mark.docker
def test_a_wall_of_paper_is_told(
    fake: FakeApi, api: Api, kubelet: DockerKubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probes, "BLOCKED_WITHIN_S", 0.5)
    pods = KubernetesPods(HERE, api=api)
    orders = [probes.order(HERE, IMAGE, Limits(), name) for name in ("server", "client")]
    with pods.pod(orders[0]) as server, pods.pod(orders[1]) as client:
        found = probes.policy(api, HERE, server, client)
        assert (found.status, found.found) == ("warn", "accepted, and does nothing")
        fake.allowed = {("pods/exec", "get"), ("pods/exec", "create"), ("pods", "get")}
        assert "may create and delete" in probes.policy(api, HERE, server, client).remedy
        fake.allowed = None
    pods.close()


def test_a_cap_that_binds_beyond_its_burst_is_told_from_one_that_does_not() -> None:
    told = json.loads((GOLDEN / "bandwidth-measured.json").read_text())["bw-egress-10m"]
    steps = (round(1e6 * mbit / 8) for mbit in told["mbit_per_s_by_second"])
    found = probes.shaped(list(accumulate(steps, initial=0)))
    assert (found.status, found.found) == ("ok", "9.6 of 10 Mbit/s after a burst of 217 MB")
    free = probes.shaped([0, 4 << 28, 4 << 28, 4 << 28, 4 << 28])
    assert (free.status, "bandwidth" in free.remedy) == ("warn", True)


def test_an_image_that_does_not_come_is_one_clear_finding(
    fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    buries(fake.store)
    ReplayKubelet(fake.store, "image-never", 0.002)
    found = [check for check in checks(api, HERE, "none:1") if check.name == "probe pods"]
    assert [(check.status, "ErrImageNeverPull" in check.found) for check in found] == [
        ("fail", True)
    ]


def test_without_a_namespace_there_is_nothing_to_examine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("INFRANOISE_KUBERNETES_NAMESPACE", raising=False)
    with pytest.raises(Refused, match="INFRANOISE_KUBERNETES_NAMESPACE"):
        doctor_of_a_cluster(None, as_json=True)
