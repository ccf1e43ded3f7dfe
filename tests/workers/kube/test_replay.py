"""Recorded pods played back through API, client and watch: what arrives is what was recorded."""

import uuid
from collections.abc import Iterator

import pytest
from kube_api import FakeApi
from kube_replay import ReplayKubelet, last_object, recorded, scenarios

from infranoise.models import kube_reading
from infranoise.models.kube_reading import Transition
from infranoise.workers.pods.kubernetes.api import Api
from infranoise.workers.pods.kubernetes.watch import Reflector

NAMESPACE = "trials"
QUICK = 0.002


@pytest.fixture
def reflector(fake: FakeApi, api: Api) -> Iterator[Reflector]:
    made = Reflector(api, NAMESPACE, "kept=yes", watch_s=(30, 30))
    made.start()
    fake.wait_for_watch()
    yield made
    made.stop()


@pytest.mark.parametrize("scenario", scenarios())
def test_what_a_cluster_told_arrives_as_it_was_told(
    scenario: str, fake: FakeApi, reflector: Reflector
) -> None:
    ReplayKubelet(fake.store, scenario, QUICK)
    record = recorded(scenario)
    body = {
        "metadata": {"name": f"p-{uuid.uuid4().hex[:8]}", "labels": {"kept": "yes"}},
        "spec": {"containers": [{"name": "main", "image": "x:1"}]},
    }
    made = fake.store.create("pods", NAMESPACE, body)
    uid = made["metadata"]["uid"]
    reflector.follow(made)
    told = [step["status"].get("phase") for step in record["watch"]]
    assert reflector.wait(uid, lambda history: len(history) > len(told), 15)
    history = reflector.history(uid)
    assert [step.pod["status"].get("phase") for step in history[1:]] == told
    whole = Transition(kind=history[-1].kind, pod=last_object(record))
    seen, wanted = kube_reading.facts(history), kube_reading.facts([whole])
    for fact in ("phase", "reason", "message", "disruption", "exit_code", "report", "waiting"):
        assert getattr(seen, fact) == getattr(wanted, fact), fact
