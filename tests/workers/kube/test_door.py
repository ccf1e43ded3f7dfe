"""A cluster is asked before anything is planned on it; what is wrong is told with its remedy."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from kube_api import FakeApi
from rich.console import Console

from infranoise.cli.in_a_cluster import tidy
from infranoise.models.errors import Refused
from infranoise.workers.pods.kubernetes.api import Api, connect
from infranoise.workers.pods.kubernetes.door import knock
from infranoise.workers.pods.kubernetes.rights import RIGHTS
from infranoise.workers.pods.kubernetes.runs import config_map
from infranoise.workers.pods.kubernetes.words import Shape

ALL = {(right.resource, right.verb) for right in RIGHTS}


def test_a_cluster_that_is_well_lets_us_in_and_keeps_nothing_of_it(fake: FakeApi, api: Api) -> None:
    knock(api, Shape(namespace="trials"))
    fake.quota_full = True  # it may have room later
    knock(api, Shape(namespace="trials"))
    assert fake.store.all_of("pods") == []


REFUSALS: dict[str, tuple[Callable[[FakeApi], object], str, str]] = {
    "away": (lambda fake: fake.storm.extend([(503, None)] * 60), "trials", "check KUBECONFIG"),
    "a right": (
        lambda fake: setattr(fake, "allowed", ALL - {("pods", "delete"), ("pods/exec", "create")}),
        "trials",
        "may not delete pods, create pods/exec: grant it",
    ),
    "the namespace": (lambda fake: None, "absent", "no namespace 'absent' .* make it, or set"),
}


@pytest.mark.parametrize("lacking", REFUSALS)
def test_what_no_trial_could_run_without_is_told_at_the_door(
    lacking: str, fake: FakeApi, api: Api
) -> None:
    break_, namespace, words = REFUSALS[lacking]
    break_(fake)
    with pytest.raises(Refused, match=words) as refusal:
        knock(api, Shape(namespace=namespace))
    assert fake.url in str(refusal.value)


KUBECONFIGS = {
    "no YAML": ("a: [", "mend the file"),
    "a list": ("[]", "mend the file"),
    "a word": ("hello", "mend the file"),
    "nothing": ("", "mend the file"),
    "not there": (None, "names no file that is there"),
}


@pytest.mark.parametrize("what", KUBECONFIGS)
def test_a_kubeconfig_that_cannot_be_read_is_told_by_its_name(what: str, tmp_path: Path) -> None:
    text, words = KUBECONFIGS[what]
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(Refused, match=words) as refusal:
        connect(str(path))
    assert str(path) in str(refusal.value)


def test_a_context_that_is_not_in_it_is_told_with_those_that_are(
    fake: FakeApi, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(fake.kubeconfig()))
    assert connect(str(path), "fake").host == fake.url
    with pytest.raises(Refused, match=r"INFRANOISE_KUBERNETES_CONTEXT to a context .*: fake"):
        connect(str(path), "prod")


def test_a_run_that_is_over_takes_its_config_map_away_or_says_that_it_stays(
    fake: FakeApi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "kubeconfig").write_text(json.dumps(fake.kubeconfig()))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setenv("INFRANOISE_KUBERNETES_NAMESPACE", "trials")
    for run in ("mine", "another"):
        fake.store.create("configmaps", "trials", config_map(run))
    fake.allowed = ALL - {("configmaps", "delete")}
    tidy("mine", Console())
    assert "infranoise sweep mine --all" in capsys.readouterr().out.replace("\n", " ")
    fake.allowed = None
    tidy("mine", Console())
    assert [one["data"]["experiment"] for one in fake.store.all_of("configmaps")] == ["another"]
