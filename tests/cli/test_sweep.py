"""`sweep`: removes what a run left in a cluster, keeps the evidence, and says what stays."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kube_api import FakeApi

from infranoise.cli.sweep import Asked, sweep
from infranoise.models.errors import DesignError, Refused
from infranoise.models.limits import Limits
from infranoise.workers.pods.kubernetes import runs, words
from infranoise.workers.pods.pod import PodOrder

Leave = Callable[..., None]
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    api = FakeApi()
    with api.running():
        api.store.create("namespaces", "", {"metadata": {"name": "trials"}})
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(json.dumps(api.kubeconfig()))
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
        monkeypatch.setenv("INFRANOISE_KUBERNETES_NAMESPACE", "trials")
        yield api


@pytest.fixture
def leave(fake: FakeApi) -> Leave:
    def make(experiment: str, attempt: str, expires_s: float) -> None:
        order = PodOrder(attempt, experiment, "t", Path("/none"), "h", Limits(),
                         time.time() + expires_s, image="i:1")  # fmt: skip
        fake.store.create("pods", "trials", words.manifest(order, words.Shape(), 0))

    return make


def names(fake: FakeApi) -> set[str]:
    pods = fake.store.all_of("pods", "trials")
    return {pod["metadata"].get("annotations", {}).get("infranoise.dev/attempt") for pod in pods}


def asked(tmp_path: Path, experiment: str | None = None, everything: bool = False) -> Asked:
    return Asked(experiment, everything, tmp_path / "swept", as_json=True)


def told(capsys: Capture) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_what_has_expired_goes_and_what_still_runs_stays(
    fake: FakeApi, leave: Leave, tmp_path: Path, capsys: Capture
) -> None:
    leave("a", "a.1", -1)
    leave("b", "b.1", 60)
    assert sweep(asked(tmp_path)) == 0
    assert names(fake) == {"b.1"}
    assert [one["attempt"] for one in told(capsys)["swept"]] == ["a.1"]
    (diary,) = (tmp_path / "swept").iterdir()
    assert '"what":"SWEPT"' in diary.read_text()


def test_all_of_one_run_goes_with_its_config_map_and_no_other_run_is_touched(
    fake: FakeApi, leave: Leave, tmp_path: Path
) -> None:
    for run in ("a", "b"):
        leave(run, f"{run}.1", 60)
        fake.store.create("configmaps", "trials", runs.config_map(run))
    stranger = {"metadata": {"name": "web"}, "spec": {"containers": []}}
    fake.store.create("pods", "trials", stranger)
    assert sweep(asked(tmp_path, "a", everything=True)) == 0
    assert names(fake) == {"b.1", None}
    assert [one["data"]["experiment"] for one in fake.store.all_of("configmaps")] == ["b"]


def test_config_maps_of_runs_long_over_go_with_what_has_expired(
    fake: FakeApi, leave: Leave, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in ("over", "busy"):
        fake.store.create("configmaps", "trials", runs.config_map(run))
    leave("busy", "busy.1", 60)
    assert sweep(asked(tmp_path)) == 0
    assert len(fake.store.all_of("configmaps")) == 2  # made today
    monkeypatch.setattr(runs, "STALE_S", -60.0)
    fake.allowed = {("pods", "list")}
    assert sweep(asked(tmp_path)) == 0  # without the right they stay
    fake.allowed = None
    assert sweep(asked(tmp_path)) == 0
    assert [one["data"]["experiment"] for one in fake.store.all_of("configmaps")] == ["busy"]


def test_what_stays_is_said_and_ends_in_another_code(
    fake: FakeApi, leave: Leave, tmp_path: Path, capsys: Capture
) -> None:
    leave("a", "a.1", -1)
    fake.allowed = {("pods", "list")}
    assert sweep(asked(tmp_path)) == 1
    (one,) = told(capsys)["swept"]
    assert "cannot delete" in one["why_it_stays"]


def test_everything_of_every_run_is_never_removed_by_mistake(fake: FakeApi, tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="name the experiment"):
        sweep(asked(tmp_path, everything=True))


def test_without_a_namespace_nothing_is_swept(
    fake: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("INFRANOISE_KUBERNETES_NAMESPACE")
    with pytest.raises(Refused, match="INFRANOISE_KUBERNETES_NAMESPACE"):
        sweep(asked(tmp_path))
