"""One watch for all pods, under every fault that a real one meets: each state once, in its order,
nothing lost, nothing made up."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kube_api import FakeApi
from kube_wait import until
from kubernetes import client

from infranoise.models.kube_reading import Transition
from infranoise.workers.pods.kubernetes.api import Api, ApiAway, ApiRefused, Ask
from infranoise.workers.pods.kubernetes.watch import Reflector, gone

NAMESPACE = "trials"
LABELS = {"app.kubernetes.io/managed-by": "infranoise"}
Json = dict[str, Any]


def make(fake: FakeApi) -> Json:
    """A pod that has a node."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    container = {"name": "main", "image": "x:1"}
    body = {
        "metadata": {"name": name, "labels": LABELS},
        "spec": {"containers": [container]},
    }
    fake.store.create("pods", NAMESPACE, body)
    return fake.store.bind(NAMESPACE, name, "node-1")


def phase(fake: FakeApi, pod: Json, to: str) -> None:
    fake.store.status(NAMESPACE, pod["metadata"]["name"], {"phase": to})


def phases(history: tuple[Transition, ...]) -> list[str]:
    told = [step.pod["status"]["phase"] for step in history if step.kind != "DELETED"]
    return list(dict.fromkeys(told))


@pytest.fixture
def reflector(fake: FakeApi, api: Api) -> Iterator[Reflector]:
    """A reflector that finds a silence of half a second dead."""
    fake.bookmark_s = 0.1
    made = Reflector(
        api, NAMESPACE, "app.kubernetes.io/managed-by=infranoise", watch_s=(2, 2), read_s=0.5
    )
    made.start()
    fake.wait_for_watch()
    yield made
    made.stop()


def came_to(reflector: Reflector, pod: Json, to: str) -> bool:
    return reflector.wait(
        pod["metadata"]["uid"], lambda h: bool(h) and h[-1].pod["status"]["phase"] == to, 10
    )


FAULTS: dict[str, Callable[[FakeApi], None]] = {
    "nothing": lambda fake: None,
    "the watch expires": FakeApi.expire_watches,
    "a watch cannot be taken up, and nobody says why": FakeApi.spoil_watches,
    "the server starts again": FakeApi.restart,
    "a storm of 429 with Retry-After": lambda fake: fake.storm.extend([(429, 0)] * 3),
    "a storm of 5xx": lambda fake: fake.storm.extend([(500, None), (503, None), (504, None)]),
    "a half-open connection": FakeApi.fall_silent,
    "events are doubled": lambda fake: setattr(fake, "doubling", True),
    "events come in another order": lambda fake: setattr(fake, "reordering", True),
    "the cluster's clock is off": lambda fake: setattr(fake, "clock_ahead_s", 3600.0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_loses_nothing_and_doubles_nothing(
    fault: str, fake: FakeApi, reflector: Reflector
) -> None:
    pods = [make(fake) for _ in range(5)]
    for pod in pods:
        reflector.follow(pod)
    FAULTS[fault](fake)
    for pod in pods:
        phase(fake, pod, "Running")
    if fault == "a half-open connection":
        threading.Timer(0.7, fake.fall_silent, [False]).start()
    if fault.startswith("a storm"):
        fake.expire_watches()
    assert all(came_to(reflector, pod, "Running") for pod in pods)
    for pod in pods:
        fake.store.delete("pods", NAMESPACE, pod["metadata"]["name"], grace_s=0)
        assert reflector.wait(pod["metadata"]["uid"], gone, 10)
        history = reflector.history(pod["metadata"]["uid"])
        assert phases(history) == ["Pending", "Running"]
        assert sum(gone((step,)) for step in history) == 1
        versions = [int(step.pod["metadata"]["resourceVersion"]) for step in history]
        assert versions == sorted(versions)


def test_a_watch_of_a_quiet_corner_is_taken_up_where_the_last_bookmark_stood(
    fake: FakeApi, reflector: Reflector
) -> None:
    for number in range(3):  # what others do moves the version on
        fake.store.create("configmaps", NAMESPACE, {"metadata": {"name": f"other-{number}"}})
    until(lambda: reflector.feed._version == str(fake.store.version))
    fake.expire_watches()
    pod = make(fake)
    reflector.follow(pod)
    phase(fake, pod, "Running")
    assert came_to(reflector, pod, "Running")
    assert reflector.feed.lists == 1


def test_a_silence_longer_than_a_watch_lasts_is_a_dead_connection(
    fake: FakeApi, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infranoise.workers.pods.kubernetes.feed.READ_SLACK_S", 0.2)
    asked = "app.kubernetes.io/managed-by=infranoise"
    reflector = Reflector(api, NAMESPACE, asked, watch_s=(1, 1))
    reflector.start()
    fake.wait_for_watch()
    fake.fall_silent()
    pod = make(fake)
    reflector.follow(pod)
    phase(fake, pod, "Running")
    before = len(fake.requests)
    until(lambda: len(fake.requests) > before)  # it has come back by itself
    fake.fall_silent(False)
    assert came_to(reflector, pod, "Running")
    reflector.stop()


def test_a_pod_that_went_while_nobody_looked_has_vanished(
    fake: FakeApi, reflector: Reflector
) -> None:
    pod = make(fake)
    reflector.follow(pod)
    fake.fall_silent()
    fake.store.delete("pods", NAMESPACE, pod["metadata"]["name"], grace_s=0)
    fake.expire_watches()
    fake.fall_silent(False)
    assert reflector.wait(pod["metadata"]["uid"], gone, 10)
    assert reflector.history(pod["metadata"]["uid"])[-1].kind == "VANISHED"


def test_states_of_a_pod_share_what_stays_and_leave_out_who_wrote_which_field(
    fake: FakeApi, reflector: Reflector
) -> None:
    pod = make(fake)
    reflector.follow(pod | {"metadata": pod["metadata"] | {"managedFields": [{"manager": "me"}]}})
    phase(fake, pod, "Running")
    assert came_to(reflector, pod, "Running")
    first, *_, last = reflector.history(pod["metadata"]["uid"])
    assert first.pod["spec"] is last.pod["spec"]
    assert "managedFields" not in first.pod["metadata"]


def test_what_nobody_follows_is_not_kept(fake: FakeApi, reflector: Reflector) -> None:
    stranger, followed = make(fake), make(fake)
    reflector.follow(followed)
    phase(fake, stranger, "Running")
    phase(fake, followed, "Running")
    assert came_to(reflector, followed, "Running")
    assert reflector.history(stranger["metadata"]["uid"]) == ()
    reflector.forget(followed["metadata"]["uid"])
    assert reflector.history(followed["metadata"]["uid"]) == ()


def test_what_happens_before_the_answer_to_a_create_is_not_lost(
    fake: FakeApi, reflector: Reflector
) -> None:
    reflector.expect("early")
    body = {"metadata": {"name": "early", "labels": LABELS}, "spec": {"containers": []}}
    made = fake.store.create("pods", NAMESPACE, body)
    phase(fake, made, "Failed")
    assert came_to(reflector, made, "Failed")
    reflector.follow(made)
    assert phases(reflector.history(made["metadata"]["uid"])) == ["Pending", "Failed"]


def test_what_happens_to_a_pod_wakes_nobody_who_waits_for_another(
    fake: FakeApi, reflector: Reflector
) -> None:
    waiting, busy = make(fake), make(fake)
    looks: list[int] = []

    def never(history: tuple[Transition, ...]) -> bool:
        looks.append(len(history))
        return len(history) > 1

    for pod in (waiting, busy):
        reflector.follow(pod)
    thread = threading.Thread(
        target=reflector.wait, args=(waiting["metadata"]["uid"], never, 10), daemon=True
    )
    thread.start()
    for to in ("Running", "Succeeded"):
        phase(fake, busy, to)
        assert came_to(reflector, busy, to)
    phase(fake, waiting, "Running")
    thread.join(10)
    assert (looks[0], set(looks[1:])) == (1, {2})


def test_no_pod_is_polled(fake: FakeApi, reflector: Reflector) -> None:
    pods = [make(fake) for _ in range(20)]
    for pod in pods:
        reflector.follow(pod)
    before = len(fake.requests)
    for pod in pods:
        phase(fake, pod, "Running")
    assert all(came_to(reflector, pod, "Running") for pod in pods)
    assert len(fake.requests) - before <= 1  # the watch itself may have come round


def test_a_list_of_many_pages_is_read_to_its_end(
    fake: FakeApi, reflector: Reflector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infranoise.workers.pods.kubernetes.feed.PAGE", 2)
    pods = [make(fake) for _ in range(5)]
    for pod in pods:
        reflector.follow(pod)
    fake.fall_silent()
    for pod in pods:
        phase(fake, pod, "Running")
    fake.expire_watches()
    assert all(came_to(reflector, pod, "Running") for pod in pods)


def test_transitions_are_noted_before_anyone_can_act_on_them(fake: FakeApi, api: Api) -> None:
    noted: list[Transition] = []
    reflector = Reflector(api, NAMESPACE, "a=b", noted.append)
    pod = make(fake)
    reflector.follow(pod)
    reflector.look(pod["metadata"]["uid"])
    fake.store.delete("pods", NAMESPACE, pod["metadata"]["name"], grace_s=0)
    reflector.ours(pod["metadata"]["uid"])
    reflector.look(pod["metadata"]["uid"])
    assert [(step.kind, step.ours) for step in noted] == [("ADDED", False), ("VANISHED", True)]


# --- single requests ---


def test_a_storm_is_sat_out_and_a_refusal_is_not(fake: FakeApi, api: Api) -> None:
    fake.storm.extend([(429, 0), (503, None), (500, None)])
    assert api.ask(Ask("GET", "/version"))["major"] == "1"
    with pytest.raises(ApiRefused) as refusal:
        api.ask(Ask("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/none"))
    assert refusal.value.status == 404
    fake.storm.extend([(503, None)] * 3)
    with pytest.raises(ApiRefused):
        api.ask(Ask("GET", "/version"), patience_s=0)


def test_retry_after_is_heeded(fake: FakeApi, api: Api) -> None:
    fake.storm.append((429, 60))
    with pytest.raises(ApiRefused) as refusal:
        api.ask(Ask("GET", "/version"), patience_s=1)
    assert refusal.value.retry_after_s == 60
    assert len(fake.requests) == 1


def test_nobody_at_the_address_is_away_and_not_a_refusal() -> None:
    from kubernetes import client

    with pytest.raises(ApiAway):
        Api(client.Configuration(host="http://127.0.0.1:9")).ask(
            Ask("GET", "/version"), patience_s=0
        )


ASKS: dict[str, Callable[[Api], object]] = {
    "a request": lambda api: api.ask(Ask("GET", "/version")),
    "a handshake": lambda api: api.socket(EXEC, [("command", "true")]).close(),
}
EXEC = f"/api/v1/namespaces/{NAMESPACE}/pods/p/exec"


@pytest.mark.parametrize("what", ASKS)
def test_a_token_that_ran_out_is_fetched_anew(what: str, fake: FakeApi) -> None:
    async def nothing(*words: object) -> None: ...

    container = {"name": "main", "image": "x:1"}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container], "nodeName": "n"}}
    fake.store.create("pods", NAMESPACE, body)
    fake.execute = nothing
    configuration = client.Configuration(host=fake.url)
    fresh = iter(["old", "new"])

    def refresh(of: client.Configuration) -> None:
        of.api_key["authorization"] = f"Bearer {next(fresh)}"

    configuration.api_key["authorization"] = "Bearer none"
    configuration.refresh_api_key_hook = refresh
    fake.token = "new"
    ASKS[what](Api(configuration))


def test_the_clocks_difference_is_known(fake: FakeApi, api: Api) -> None:
    fake.clock_ahead_s = 600.0
    api.ask(Ask("GET", "/version"))
    assert api.skew_s == pytest.approx(600, abs=3)
