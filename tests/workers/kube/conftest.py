"""A fake cluster for tests, and pods in it: the API over real HTTP, the client unmodified."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from kube_api import FakeApi
from kube_replay import ReplayKubelet, buries
from kube_store import Object
from kubernetes import client

from infranoise.workers.pods.kubernetes.api import Api

GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
NAMESPACE = "trials"
SLOWLY = 0.5  # of the recorded life, so that there is time to work in it


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


async def ends_well(pod: Object, argv: list[str], channel: web.WebSocketResponse) -> None:
    """An exec that says that the pod is alive where it is asked, and ends well."""
    if argv[-1] == "echo alive":
        await channel.send_bytes(b"\x01alive\n")
    await channel.send_bytes(b'\x03{"metadata":{},"status":"Success"}')


@pytest.fixture
def cluster(fake: FakeApi, node: Object) -> FakeApi:
    """A fake cluster in which pods run a while, and go when they are told to."""
    fake.store.create("nodes", "", node)
    fake.execute = ends_well
    ReplayKubelet(fake.store, "termination-evidence-ok", SLOWLY)
    buries(fake.store)
    return fake
