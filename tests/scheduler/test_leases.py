"""Leases on a real server: nodes come and go, and capacity is never counted twice."""

import itertools
import json
import time
from collections.abc import Callable, Iterator

import pytest
import redis

from infranoise.models.lease import keys
from infranoise.models.lease.capacity import Capacity
from infranoise.models.lease.keys import DIALECT
from infranoise.models.lease.prelude import GAP_MS, HOLD_MS
from infranoise.models.node import NodeProfile
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.leases import Grant, Leases
from infranoise.workers.lease import Membership
from infranoise.workers.namesake import somebody_else

NODE = Capacity(cpu_m=4000, memory_bytes=1000, slots=4)
FLOOR = Capacity(cpu_m=1000, memory_bytes=100)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


@pytest.fixture
def client(server: str) -> Iterator["redis.Redis"]:
    """An empty server."""
    with redis.Redis.from_url(server, decode_responses=True) as connection:
        connection.flushall()
        yield connection


@pytest.fixture
def leases(server: str, client: "redis.Redis") -> Iterator[Leases]:
    made = Leases(server)
    yield made
    made.close()


Join = Callable[..., Membership]


@pytest.fixture
def join(client: "redis.Redis") -> Join:
    """Let a node say hello; it beats only when a test says so."""

    def make(node: str = "n", **more: object) -> Membership:
        stopped: list[str] = []
        member = Membership(client, node, NODE, stopped.append, {"stopped": stopped} | more)
        member.say_hello()
        return member

    return make


def one(leases: Leases, node: str = "n") -> Capacity:
    return next(found.free for found in leases.nodes() if found.id == node)


def grant(leases: Leases, *attempts: str) -> list[int]:
    return leases.grant([Grant(attempt, "n", FLOOR) for attempt in attempts])


def test_a_grant_takes_room_and_its_end_gives_it_back(leases: Leases, join: Join) -> None:
    member = join()
    (fence,) = grant(leases, "a")
    assert one(leases) == Capacity(3000, 900, 3)
    assert member.start("a", fence)
    assert leases.holds("n") == ("a",)
    assert member.finish("a", "{}")
    assert one(leases) == NODE


def test_more_than_a_node_holds_is_refused(leases: Leases, join: Join) -> None:
    join()
    assert [bool(fence) for fence in grant(leases, *"abcde")] == [True] * 4 + [False]


def test_a_message_that_comes_twice_starts_once(leases: Leases, join: Join) -> None:
    member = join()
    (fence,) = grant(leases, "a")
    assert [member.start("a", fence), member.start("a", fence)] == [True, False]


def test_an_old_fence_starts_nothing(leases: Leases, join: Join) -> None:
    member = join()
    (old,) = grant(leases, "a")
    leases.revoke(["a"])
    (new,) = grant(leases, "a")
    assert not member.start("a", old)
    assert member.start("a", new)


def test_a_node_that_says_hello_again_still_counts_what_it_holds(
    leases: Leases, join: Join
) -> None:
    member = join()
    member.start("a", grant(leases, "a")[0])
    leases.forget("n")
    member.beat()
    assert one(leases) == Capacity(3000, 900, 3)
    member.finish("a", "{}")
    assert one(leases) == NODE


def test_a_worker_that_starts_anew_loses_what_the_old_one_held(leases: Leases, join: Join) -> None:
    old = join()
    old.start("a", grant(leases, "a")[0])
    join()
    assert one(leases) == NODE
    (over,) = leases.run_out()
    assert (over.attempt, over.node, over.started) == ("a", "n", True)
    assert one(leases) == NODE


def test_what_a_silent_node_has_not_begun_ends_at_once(leases: Leases, join: Join) -> None:
    member = join()
    begun, waiting = grant(leases, "a", "b")
    member.start("a", begun)
    leases.despair_of(["n"])
    assert [(over.attempt, over.started) for over in leases.run_out()] == [("b", False)]
    assert not member.start("b", waiting)


def test_after_a_gap_nothing_runs_out_until_nodes_could_renew(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    member = join()
    member.start("a", grant(leases, "a")[0])
    assert leases.run_out() == []
    # The server stood still: all leases are over, and the last look at them is long ago.
    client.hset(f"{keys.PREFIX}:reaper", "at", 0)
    client.zadd(keys.EXPIRY, {"a": 0})
    assert leases.run_out() == []
    member.beat()
    client.hset(f"{keys.PREFIX}:reaper", "hold", 0)
    assert leases.run_out() == []
    assert leases.held(["a"]) == {"a"}


def test_a_server_that_nodes_could_hear_all_along_ends_leases_whoever_looks_for_them(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    """No scheduler led for a while, but the other node's heartbeats came in."""
    join("n").start("a", grant(leases, "a")[0])
    other = join("other")
    assert leases.run_out() == []
    client.zadd(keys.EXPIRY, {"a": 0})
    client.hset(f"{keys.PREFIX}:reaper", "at", int(1000 * time.time()) - GAP_MS + 1000)
    other.beat()
    assert [(over.attempt, over.gap) for over in leases.run_out()] == [("a", False)]


def test_the_first_heartbeat_after_a_gap_notices_it(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    join("n").start("a", grant(leases, "a")[0])
    other = join("other")
    leases.run_out()
    client.zadd(keys.EXPIRY, {"a": 0})
    client.hset(f"{keys.PREFIX}:reaper", "at", 0)
    other.beat()
    assert leases.run_out() == []
    client.zadd(keys.BEATS, {"n": 0})
    client.hset(f"{keys.PREFIX}:reaper", "hold", int(1000 * time.time()) - 1)
    assert [over.gap for over in leases.run_out()] == [True]


def test_the_wait_after_a_gap_ends(leases: Leases, join: Join, client: "redis.Redis") -> None:
    member = join()
    member.start("a", grant(leases, "a")[0])
    client.hset(f"{keys.PREFIX}:reaper", "at", 0)
    client.zadd(keys.EXPIRY, {"a": 0})
    leases.run_out()
    hold = float(str(client.hget(f"{keys.PREFIX}:reaper", "hold")))
    assert 0 < hold - 1000 * time.time() <= HOLD_MS
    client.hset(f"{keys.PREFIX}:reaper", "hold", 0)
    assert [over.attempt for over in leases.run_out()] == ["a"]


def test_what_is_cancelled_is_stopped_at_the_next_beat_and_leaves_no_trace(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    member = join()
    member.start("a", grant(leases, "a")[0])
    leases.cancel(["a"])
    member.beat()
    assert member.hello["stopped"] == ["a"]
    member.finish("a", "{}")
    assert client.scard(keys.CANCEL) == 0


def test_a_leaving_node_gets_nothing_until_its_worker_starts_anew(
    leases: Leases, join: Join
) -> None:
    member = join()
    member.leave()
    assert grant(leases, "a") == [0]
    member.say_hello()
    assert grant(leases, "a") == [0]
    join()
    assert all(grant(leases, "a"))


def test_a_drained_node_stays_so_whoever_says_hello(leases: Leases, join: Join) -> None:
    member = join()
    assert leases.set_state("n", "drain")
    member.leave()
    join()
    assert leases.nodes()[0].condition == "drain"
    assert grant(leases, "a") == [0]
    leases.set_state("n", "up")
    assert all(grant(leases, "a"))


def test_a_node_that_nobody_hears_of_gets_nothing(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    join()
    client.zadd(keys.BEATS, {"n": 0})
    assert leases.nodes()[0].condition == "silent"
    assert grant(leases, "a") == [0]


def test_a_node_tells_what_pods_it_offers(leases: Leases, join: Join) -> None:
    join("a", runtimes={"process": "", "docker": "no engine"})
    join("b")
    assert {node.id: node.runtimes for node in leases.nodes()} == {
        "a": frozenset({"process"}),
        "b": None,
    }


@pytest.mark.parametrize(
    ("told", "condition"),
    [({}, "up"), ({"dialect": DIALECT}, "up"), ({"dialect": DIALECT + 1}, "other release")],
)
def test_a_node_that_keeps_leases_in_another_way_gets_nothing(
    leases: Leases, join: Join, told: dict[str, object], condition: str
) -> None:
    join("n", **told)
    (node,) = leases.nodes()
    assert node.condition == condition
    assert node.takes_trials == (condition == "up")


NEWER = NodeProfile(architecture="x86_64", kernel="6.1").model_dump_json()[:-1] + ', "qubits": 5}'
UNREADABLE: dict[str, dict[str, str]] = {
    "a profile of a newer release": {"hello": json.dumps({"profile": NEWER})},
    "a probe of a newer release": {"hello": json.dumps({"probe": {"at": "noon"}})},
    "a hello that is no object": {"hello": "[1]"},
    "a hello that is no JSON": {"hello": "{"},
    "no amount": {"free_cpu": "many"},
    "an empty amount": {"free_slots": ""},
}


@pytest.mark.parametrize("told", UNREADABLE)
def test_a_node_that_cannot_be_read_is_named_and_left_out_and_stops_no_other(
    leases: Leases, join: Join, client: "redis.Redis", told: str
) -> None:
    join("n")
    join("strange")
    client.hset(keys.node_key("strange"), mapping=UNREADABLE[told])
    found = {node.id: node for node in leases.nodes()}
    assert {name: node.condition for name, node in found.items()} == {
        "n": "up",
        "strange": "unreadable",
    }
    assert not found["strange"].takes_trials
    assert "cannot be read" in found["strange"].because
    assert "run one release" in found["strange"].because
    assert leases.free()["n"] == NODE
    assert all(grant(leases, "a"))


def test_what_a_newer_release_cannot_be_read_for_is_told_with_its_version(
    leases: Leases, join: Join
) -> None:
    join("n", version="9.9", profile=NEWER)
    (node,) = leases.nodes()
    assert "infranoise 9.9" in node.because
    assert "profile.qubits: Extra inputs are not permitted" in node.because


def test_one_scheduler_leads_and_its_fence_only_grows(leases: Leases) -> None:
    first = leases.lead("a", 60_000)
    assert (leases.lead("b", 60_000), leases.lead("a", 60_000)) == (0, first)
    assert leases.leader() == "a"
    leases.step_down("b")
    assert leases.leader() == "a"
    leases.step_down("a")
    assert leases.leader() == ""
    assert leases.lead("b", 60_000) > first


def test_a_lead_is_never_below_what_the_ledger_has_seen(leases: Leases) -> None:
    assert leases.lead("a", 60_000, at_least=100) == 100
    leases.step_down("a")
    assert leases.lead("a", 60_000, at_least=50) == 101


def test_a_lead_ends_by_itself(leases: Leases, client: "redis.Redis") -> None:
    leases.lead("a", 60_000)
    assert 0 < int(str(client.pttl(keys.LEADER))) <= 60_000


def test_a_second_worker_under_one_id_is_noticed(
    server: str, client: "redis.Redis", join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not somebody_else(server, "n")
    member = join()
    beats: Iterator[int] = itertools.count()

    def sleep(_: float) -> None:
        if next(beats):
            member.beat()

    monkeypatch.setattr(time, "sleep", sleep)
    assert somebody_else(server, "n")


def test_a_record_goes_home_even_when_its_lease_is_gone(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    member = join()
    member.start("a", grant(leases, "a")[0])
    leases.revoke(["a"])
    assert not member.finish("a", json.dumps({"facts": 1}))
    assert client.xlen(keys.RECORDS) == 1


@pytest.mark.parametrize("back_s", [20, 3600])
def test_a_clock_that_was_put_back_keeps_nothing_alive(
    leases: Leases, join: Join, client: "redis.Redis", back_s: int
) -> None:
    join().start("a", grant(leases, "a")[0])
    ahead_ms = 1000 * (time.time() + back_s)
    client.zadd(keys.BEATS, {"n": ahead_ms})
    client.zadd(keys.EXPIRY, {"a": ahead_ms})
    client.hset(f"{keys.PREFIX}:reaper", mapping={"at": ahead_ms, "hold": ahead_ms})
    assert leases.run_out() == []
    now_ms = 1000 * time.time()
    assert float(str(client.zscore(keys.BEATS, "n"))) <= now_ms + 1000
    assert float(str(client.zscore(keys.EXPIRY, "a"))) <= now_ms + 11_000
    assert float(str(client.hget(f"{keys.PREFIX}:reaper", "hold"))) <= now_ms + 6_000


def test_what_ran_out_tells_how_long_its_node_was_silent(
    leases: Leases, join: Join, client: "redis.Redis"
) -> None:
    join().start("a", grant(leases, "a")[0])
    client.zadd(keys.BEATS, {"n": 1000 * time.time() - 7_000})
    client.zadd(keys.EXPIRY, {"a": 0})
    (over,) = leases.run_out()
    assert over.silent_s is not None
    assert 6.9 <= over.silent_s < 60  # the server's clock is a little behind ours
