"""The scheduler on a real queue server and ledger, with a node that does as a test says."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from sqlalchemy import Engine, update

from infranoise.models.band import Band
from infranoise.models.errors import Deposed
from infranoise.models.experiment import Experiment
from infranoise.models.lease import keys
from infranoise.models.lease.capacity import Capacity
from infranoise.models.ledger import reading
from infranoise.models.ledger.attempts import abandon, under_way
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.states import set_state
from infranoise.models.ledger.store import open_store
from infranoise.models.ledger.tables import EXPERIMENT
from infranoise.models.ledger.writing import next_fence_at_least, take_lead, writing
from infranoise.models.message import RECORD_FIELD, AttemptRecord, node_queue
from infranoise.models.node import NodeProfile
from infranoise.models.task import Task
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.collect import Collector
from infranoise.scheduler.leases import Leases
from infranoise.scheduler.news import News
from infranoise.scheduler.plan import plan
from infranoise.scheduler.service import Service
from infranoise.workers.lease import Membership

NODE = Capacity(cpu_m=64_000, memory_bytes=1 << 40, slots=2)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


@pytest.fixture
def client(server: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(server, decode_responses=True) as connection:
        connection.flushall()
        yield connection


@pytest.fixture
def engine(
    tmp_path: Path, make_experiment: Callable[..., Experiment], make_task: Callable[..., Task]
) -> Iterator[Engine]:
    """A ledger with one experiment of eight trials, each of which may have two attempts."""
    store = open_store(tmp_path / "ledger.sqlite")
    experiment = make_experiment(
        bands=[Band.shorthand("1x"), Band.shorthand("2x")], run={"max_attempts": 2}
    )
    enrol(store, experiment, [make_task()], plan(experiment, [make_task()]).waves)
    yield store
    store.dispose()


class Schedulers:
    """Schedulers over one server and one ledger, each with connections of its own."""

    def __init__(self, server: str, engine: Engine) -> None:
        self._server, self._engine = server, engine
        self._closing: list[Callable[[], None]] = []

    def leading(self, name: str) -> Service:
        """One that has just taken the lead; whoever had it is not heard of any more."""
        leases, collector = Leases(self._server), Collector(self._server)
        self._closing += [leases.close, collector.close]
        with redis.Redis.from_url(self._server) as client:
            client.delete(keys.LEADER)
        fence = leases.lead(name, 60_000, next_fence_at_least(self._engine))
        take_lead(self._engine, fence)
        return Service(self._engine, leases, collector, fence=fence)

    def close(self) -> None:
        for close in self._closing:
            close()


@pytest.fixture
def schedulers(server: str, engine: Engine, client: "redis.Redis") -> Iterator[Schedulers]:
    made = Schedulers(server, engine)
    yield made
    made.close()


@pytest.fixture
def node(client: "redis.Redis") -> Membership:
    """A node with two slots, which begins something when a test says so."""
    member = Membership(client, "n", NODE, lambda attempt: None, {})
    member.say_hello()
    return member


def turn(service: Service) -> None:
    """One round, in which everything is looked at."""
    service._looked_at = 0.0
    service.tick(0.01)


def run_out(client: "redis.Redis") -> None:
    """All leases are over."""
    for attempt in client.zrange(keys.EXPIRY, 0, -1):
        client.zadd(keys.EXPIRY, {attempt: 0})


def fence_of(client: "redis.Redis", attempt: str) -> int:
    return int(str(client.hget(keys.lease_key(attempt), "fence")))


def test_a_leader_that_stood_still_changes_nothing_when_it_goes_on(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    old = schedulers.leading("old")
    turn(old)
    new = schedulers.leading("new")
    turn(new)
    sent = client.llen(node_queue("n"))
    before = [line.id for line in reading.attempts(engine, "small")], under_way(engine, "small")
    old._looked_at = 0.0
    client.zadd(keys.BEATS, {"n": 0})  # there is something to despair of, to end and to send
    parts: tuple[Callable[[], object], ...] = (
        lambda: old.tick(0.01),
        lambda: old.roster.look(old.fence),
        lambda: old.leases.push([("n", "{}")]),
    )
    for part in parts:
        with pytest.raises(Deposed):
            part()
    after = [line.id for line in reading.attempts(engine, "small")], under_way(engine, "small")
    assert (after, client.llen(node_queue("n"))) == (before, sent)


def test_a_node_of_a_newer_release_is_left_out_and_told_while_the_others_work(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    profile = NodeProfile(architecture="x86_64", kernel="6.1").model_dump_json()
    newer = {"version": "9.9", "profile": profile[:-1] + ', "qubits": 5}'}
    Membership(client, "newer", NODE, print, newer).say_hello()
    node.tell({"profile": profile})
    service, said = schedulers.leading("one"), list[tuple[str, dict[str, object]]]()
    turn(service)
    News(lambda event, **facts: said.append((event, facts))).look(service)
    assert {line.node for line in reading.attempts(engine, "small")} == {"n"}
    assert reading.node_profiles(engine) == {"n": NodeProfile(architecture="x86_64", kernel="6.1")}
    told = {facts["node"]: facts for event, facts in said if event == "node"}
    assert (told["n"]["state"], told["newer"]["state"]) == ("up", "unreadable")
    assert "infranoise 9.9" in str(told["newer"]["because"])


def test_an_experiment_of_a_newer_release_is_left_out_and_told_while_the_others_go_on(
    schedulers: Schedulers,
    node: Membership,
    engine: Engine,
    make_experiment: Callable[..., Experiment],
    make_task: Callable[..., Task],
    make_record: Callable[..., AttemptRecord],
    client: "redis.Redis",
) -> None:
    newer = make_experiment(name="newer")
    enrol(engine, newer, [make_task()], plan(newer, [make_task()]).waves)
    written = newer.model_dump_json()[:-1] + ', "qubits": 5}'
    with writing(engine) as connection:
        named = update(EXPERIMENT).where(EXPERIMENT.c.name == "newer")
        connection.execute(named.values(document=written))
    record = make_record("t", experiment="newer")
    client.xadd(keys.RECORDS, {RECORD_FIELD: record.encode()})
    service, said = schedulers.leading("one"), list[tuple[str, dict[str, object]]]()
    turn(service)
    News(lambda event, **facts: said.append((event, facts))).look(service)
    assert set(service.windows) == {"small"}
    assert under_way(engine, "small")
    (told,) = [facts for event, facts in said if event == "leaves an experiment out"]
    assert told["experiment"] == "newer"
    assert "qubits: Extra inputs are not permitted" in str(told["because"])
    (kept,) = reading.events(engine, "newer")
    assert kept.kind == "record of an unreadable experiment"
    assert not client.xlen(keys.RECORDS)


def test_a_trial_goes_to_nodes_that_can_make_its_link(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    refused = {"process": {"public": "there is no way out"}}
    node.tell({"links": refused})
    Membership(client, "able", NODE, print, {"links": {"process": {"none": "no"}}}).say_hello()
    for _ in range(3):
        turn(schedulers.leading("one"))
    assert {line.node for line in reading.attempts(engine, "small")} == {"able"}


def test_a_message_that_was_lost_is_sent_again_and_counts_for_nothing(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    service = schedulers.leading("one")
    turn(service)
    first = set(under_way(engine, "small"))
    assert len(first) == NODE.slots
    client.delete(node_queue("n"))
    run_out(client)
    turn(service)
    second = set(under_way(engine, "small"))
    assert {attempt.partition(".")[0] for attempt in second} == {
        attempt.partition(".")[0] for attempt in first
    }
    ended = [line for line in reading.attempts(engine, "small") if line.id in first]
    assert {line.verdict for line in ended} == {"cancelled"}


def test_attempts_over_the_maximum_end_their_trial(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    """Whatever runs kills its node: each attempt is begun and never comes home."""
    service = schedulers.leading("one")
    for _ in range(40):
        turn(service)
        for attempt in under_way(engine, "small"):
            node.start(attempt, fence_of(client, attempt))
        run_out(client)
    turn(service)
    lines = list(reading.attempts(engine, "small"))
    assert reading.progress(engine, "small") == (8, 8)
    assert {line.number for line in lines} == {1, 2}
    assert {(line.verdict, line.cause) for line in lines} == {("infra_error", "node_lost")}
    assert not client.zcard(keys.EXPIRY)


def test_a_queue_server_that_forgot_everything_costs_attempts_but_no_trial(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    service = schedulers.leading("one")
    turn(service)
    lost = set(under_way(engine, "small"))
    client.flushall()
    client.script_flush()
    later = schedulers.leading("two")
    node.beat()  # it is told that nobody knows it, and says hello
    for _ in range(2):
        turn(later)
    assert {line.cause for line in reading.attempts(engine, "small") if line.id in lost} == {
        "node_lost"
    }
    turn(later)
    assert len(under_way(engine, "small")) == NODE.slots


def test_what_is_owed_and_known_to_nobody_is_found(
    schedulers: Schedulers,
    node: Membership,
    engine: Engine,
    client: "redis.Redis",
    make_record: Callable[..., AttemptRecord],
) -> None:
    """Attempts that another hand gave up in the ledger: this scheduler was not told."""
    service = schedulers.leading("one")
    turn(service)
    given_up = set(under_way(engine, "small"))
    abandon(engine, "small", "by another hand")
    for _ in range(12):
        for attempt in set(under_way(engine, "small")) | given_up:
            if client.exists(keys.lease_key(attempt)):
                node.start(attempt, fence_of(client, attempt))
                trial, _, number = attempt.partition(".")
                node.finish(attempt, make_record(trial, int(number)).encode())
        turn(service)
    assert reading.progress(engine, "small") == (8, 8)


def test_a_record_of_an_experiment_that_nobody_knows_is_set_aside(
    schedulers: Schedulers, engine: Engine, client: "redis.Redis", make_record: object
) -> None:
    record = make_record("t", experiment="strange")  # type: ignore[operator]
    client.xadd(keys.RECORDS, {"record": record.encode()})
    service = schedulers.leading("one")
    turn(service)
    assert not client.xlen(keys.RECORDS)
    (event,) = reading.events(engine, "strange")
    assert (event.kind, event.subject) == ("record of an unknown experiment", "t.1")


def test_what_is_paused_and_resumed_goes_on_where_it_was(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    set_state(engine, "small", "paused")
    service = schedulers.leading("one")
    turn(service)
    assert not under_way(engine, "small")
    set_state(engine, "small", "active")
    turn(service)
    turn(service)
    assert len(under_way(engine, "small")) == NODE.slots


def test_bands_stay_evenly_spread_whoever_leads(
    schedulers: Schedulers, node: Membership, engine: Engine, client: "redis.Redis"
) -> None:
    turn(schedulers.leading("one"))
    new = schedulers.leading("two")
    turn(new)
    (window,) = new.windows.values()
    assert sum(window.spread.values()) == NODE.slots
    assert {node for _, node in window.spread} == {"n"}
