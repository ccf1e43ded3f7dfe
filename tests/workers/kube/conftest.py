"""A fake cluster for tests, and pods in it: the API over real HTTP, the client unmodified."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from kube_api import FakeApi
from kubernetes import client

from infranoise.workers.pods.kubernetes.api import Api

GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
NAMESPACE = "trials"


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    """A fake API server with one namespace and no node."""
    api = FakeApi()
    with api.running():
        api.store.create("namespaces", "", {"metadata": {"name": NAMESPACE}})
        yield api


@pytest.fixture
def api(fake: FakeApi) -> Api:
    """A connection to it, as a worker has one."""
    return Api(client.Configuration(host=fake.url))


@pytest.fixture
def node() -> dict[str, object]:
    """A recorded node."""
    return json.loads((GOLDEN / "node.json").read_text())  # type: ignore[no-any-return]
