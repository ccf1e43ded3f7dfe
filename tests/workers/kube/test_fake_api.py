"""The fake API server is held against what a real one answered (1.36.2)."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import urllib3
from kube_api import FakeApi
from kube_store import Store
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

GOLDEN = Path(__file__).parents[2] / "golden" / "kubernetes"
Json = dict[str, Any]
PAIRS: list[Json] = json.loads((GOLDEN / "api-semantics.json").read_text())
ASKED = [pair for pair in PAIRS if "request" in pair]
# What a stock server adds beyond the semantics that pods of ours rest on.
LEFT_OUT = {"volumes", "volumeMounts", "managedFields", "tolerations", "uid", "creationTimestamp",
            "deletionTimestamp", "continue", "resourceVersion"}  # fmt: skip
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def plain(answer: Any) -> Any:
    """An answer without what differs from run to run."""
    if isinstance(answer, dict):
        return {
            k: "gen" if k == "name" and str(v).startswith("gen-") else plain(v)
            for k, v in answer.items()
            if k not in LEFT_OUT
        }
    if isinstance(answer, list):
        return [plain(one) for one in answer]
    if isinstance(answer, str):
        return UID.sub("UID", answer).split("fields other than")[0]
    return answer


@pytest.fixture(scope="module")
def answered() -> list[tuple[Json, int, Any]]:
    """Every recorded request sent to the fake, in order; its status and body."""
    fake = FakeApi(Store(first_version=215))
    fake.store.wants_service_account = True
    found = []
    with fake.running(), urllib3.PoolManager() as pool:
        for pair in ASKED:
            asked = pair["request"]
            body = None if asked["body"] is None else json.dumps(asked["body"]).encode()
            path = asked["path"].replace("timeoutSeconds=2", "timeoutSeconds=1")
            got = pool.request(asked["method"], fake.url + path, body=body)
            found.append((pair, got.status, got.data.decode()))
    return found


@pytest.mark.parametrize("number", range(len(ASKED)), ids=[pair["title"] for pair in ASKED])
def test_the_fake_answers_as_a_real_server_did(
    answered: list[tuple[Json, int, Any]], number: int
) -> None:
    pair, status, text = answered[number]
    assert status == pair["response"]["status"]
    wanted = pair["response"].get("body") or ""
    if isinstance(wanted, str):  # a watch, or nothing
        kinds = [json.loads(line)["type"] for line in text.splitlines()]
        told = [json.loads(line)["type"] for line in wanted.splitlines() if line]
        assert [k for k in kinds if k != "BOOKMARK"] == [k for k in told if k != "BOOKMARK"]
        return
    got = json.loads(text)
    if pair["title"] == "version":
        assert (got["major"], got["minor"]) == (wanted["major"], wanted["minor"])
        return
    if got.get("reason") == "Invalid":  # its words carry a diff of Go structures
        assert [c["field"] for c in got["details"].get("causes", ())] in ([], _fields(wanted))
        got, wanted = ({k: v for k, v in one.items() if k != "details"} for one in (got, wanted))
    assert plain(got) == plain(wanted)


def test_versions_move_where_they_moved_and_stand_where_they_stood(
    answered: list[tuple[Json, int, Any]],
) -> None:
    recorded, ours = [], []
    for pair, _, text in answered:
        wanted = pair["response"].get("body")
        if isinstance(wanted, dict) and "resourceVersion" in wanted.get("metadata", {}):
            recorded.append(int(wanted["metadata"]["resourceVersion"]))
            ours.append(int(json.loads(text)["metadata"]["resourceVersion"]))
    moved = [[later > now for now, later in pairwise(row)] for row in (recorded, ours)]
    assert moved[0] == moved[1]


def _fields(wanted: Json) -> list[str]:
    return [cause["field"] for cause in wanted["details"]["causes"]]


def test_a_watch_tells_what_the_recorded_one_told(fake: FakeApi) -> None:
    recorded = next(pair for pair in PAIRS if "events" in pair)["events"]
    wanted = [event["type"] for event in recorded if "type" in event]
    core = client.CoreV1Api(client.ApiClient(client.Configuration(host=fake.url)))
    fake.bookmark_s = 0.1
    start = core.list_namespaced_pod("trials").metadata.resource_version
    pod = next(p["request"]["body"] for p in ASKED if p["title"] == "create p2 under watch")
    fake.store.create("pods", "trials", pod)
    fake.store.patch("pods", "trials", "p2", {"metadata": {"labels": {"z": "1"}}})
    fake.store.patch("pods", "trials", "p2", {"metadata": {"labels": {"z": "1"}}})
    fake.store.delete("pods", "trials", "p2")
    events = watch.Watch().stream(
        core.list_namespaced_pod,
        "trials",
        resource_version=start,
        timeout_seconds=1,
        allow_watch_bookmarks=True,
    )
    told = [event["type"] for event in events]
    assert [t for t in told if t != "BOOKMARK"] == [t for t in wanted if t != "BOOKMARK"]
    assert "BOOKMARK" in wanted


def test_an_expired_watch_and_an_expired_list_are_410_as_recorded(fake: FakeApi) -> None:
    recorded = json.loads((GOLDEN / "watch-410.json").read_text())
    fake.store.create("configmaps", "trials", {"metadata": {"name": "one"}})
    fake.store.compact()
    path = f"{fake.url}/api/v1/namespaces/trials/pods"
    with urllib3.PoolManager() as pool:
        told = pool.request("GET", f"{path}?watch=1&resourceVersion=50&timeoutSeconds=1")
        listed = pool.request("GET", f"{path}?resourceVersion=50&resourceVersionMatch=Exact")
    event, wanted = json.loads(told.data), recorded["event"]
    assert told.status == recorded["watch_response_status"]
    assert (event["type"], event["object"]["code"]) == (wanted["type"], wanted["object"]["code"])
    assert event["object"]["reason"] == wanted["object"]["reason"]
    assert listed.status == recorded["list_exact_old_rv"]["status"]


def test_the_client_s_typed_calls_work_on_it(fake: FakeApi) -> None:
    core = client.CoreV1Api(client.ApiClient(client.Configuration(host=fake.url)))
    with pytest.raises(ApiException) as missing:
        core.read_namespaced_pod("nope", "trials")
    assert missing.value.status == 404
