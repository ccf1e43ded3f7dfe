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
from infranoise.workers.pods.kubernetes.rights import RIGHTS

GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
NAMESPACE = "trials"
RIGHTS_OF_WORKERS = {(right.resource, right.verb) for right in RIGHTS}
OF_THE_DOCTOR = {("networkpolicies", verb) for verb in ("create", "delete")}
OF_TESTS = {("pods/eviction", "create")}
SLOWLY = 0.5  # of the recorded life, so that there is time to work in it


@pytest.fixture
def fake() -> Iterator[FakeApi]:
    """A fake API server with one namespace and no node; whatever a test does, nothing is asked of
    it that is no right of a worker, of the doctor, or of a test that plays the cluster."""
    api = FakeApi()
    with api.running():
        api.store.create("namespaces", "", {"metadata": {"name": NAMESPACE}})
        yield api
    assert api.used <= RIGHTS_OF_WORKERS | OF_THE_DOCTOR | OF_TESTS


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
def cluster(fake: FakeApi, node: Object, request: pytest.FixtureRequest) -> FakeApi:
    """A fake cluster in which pods run a while, for ever in a file that says `LIVE_ON`, and go when
    they are told to."""
    lives_on = getattr(request.module, "LIVE_ON", False)
    fake.store.create("nodes", "", node)
    fake.execute = ends_well
    ReplayKubelet(fake.store, "termination-evidence-ok", SLOWLY, lives_on=lives_on)
    buries(fake.store)
    return fake
