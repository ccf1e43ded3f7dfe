"""A scheduler that lost its lead changes nothing in Redis, whatever it was about to do."""

from collections.abc import Callable, Iterator

import pytest
import redis

from infranoise.models.errors import Deposed
from infranoise.models.lease import keys
from infranoise.models.lease.capacity import Capacity
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.leases import Grant, Leases
from infranoise.workers.lease import Membership

FLOOR = Capacity(cpu_m=1000, memory_bytes=100)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


@pytest.fixture
def client(server: str) -> Iterator["redis.Redis"]:
    """A server with one node, which holds one lease that it has begun and one that it has not."""
    with redis.Redis.from_url(server, decode_responses=True) as connection:
        connection.flushall()
        node = Membership(connection, "n", Capacity(4000, 1000, 4), print, {})
        node.say_hello()
        home = Leases(server)
        begun, _ = home.grant([Grant(attempt, "n", FLOOR) for attempt in ("begun", "sent")])
        node.start("begun", begun)
        home.run_out()
        home.close()
        yield connection


@pytest.fixture
def deposed(server: str, client: "redis.Redis") -> Iterator[Leases]:
    """One who led, stood still, and does not know yet that another leads."""
    old, new = Leases(server), Leases(server)
    old.lead("old", 60_000)
    client.delete(keys.LEADER)
    new.lead("new", 60_000)
    yield old
    new.close()
    old.close()


ACTS: dict[str, Callable[[Leases], object]] = {
    "granting": lambda leases: leases.grant([Grant("more", "n", FLOOR)]),
    "ending what ran out": lambda leases: leases.run_out(),
    "taking back": lambda leases: leases.revoke(["begun"]),
    "despairing of a node": lambda leases: leases.despair_of(["n"]),
    "cancelling": lambda leases: leases.cancel(["begun"]),
    "pushing": lambda leases: leases.push([("n", "{}")]),
}


def everything(client: "redis.Redis") -> dict[str, object]:
    """All that the server holds, but for the lead itself."""
    names = sorted(set(client.scan_iter("*")) - {keys.LEADER})
    return {name: client.dump(name) for name in names}


@pytest.fixture
def raw(server: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(server) as connection:
        yield connection


@pytest.mark.parametrize("act", ACTS)
def test_who_was_deposed_changes_nothing(deposed: Leases, raw: "redis.Redis", act: str) -> None:
    before = everything(raw)
    with pytest.raises(Deposed):
        ACTS[act](deposed)
    assert everything(raw) == before


@pytest.mark.parametrize("act", ACTS)
def test_who_has_no_lead_any_more_changes_nothing_although_nobody_leads(
    deposed: Leases, client: "redis.Redis", raw: "redis.Redis", act: str
) -> None:
    client.delete(keys.LEADER)
    before = everything(raw)
    with pytest.raises(Deposed):
        ACTS[act](deposed)
    assert everything(raw) == before


@pytest.mark.parametrize("act", ACTS)
def test_who_was_refused_the_lead_changes_nothing(
    server: str, client: "redis.Redis", raw: "redis.Redis", act: str
) -> None:
    first, second = Leases(server), Leases(server)
    assert first.lead("first", 60_000)
    assert not second.lead("second", 60_000)
    before = everything(raw)
    with pytest.raises(Deposed):
        ACTS[act](second)
    assert everything(raw) == before
    first.close()
    second.close()


@pytest.mark.parametrize("act", ACTS)
def test_who_leads_may(server: str, client: "redis.Redis", act: str) -> None:
    leases = Leases(server)
    assert leases.lead("one", 60_000)
    ACTS[act](leases)
    leases.close()


def test_a_lead_does_not_outlast_a_clock_that_was_put_back(
    server: str, client: "redis.Redis"
) -> None:
    leases = Leases(server)
    leases.lead("gone", 60_000)
    client.pexpire(keys.LEADER, 3_600_000)
    assert not leases.lead("next", 6_000)
    assert 0 < int(str(client.pttl(keys.LEADER))) <= 6_000
    leases.close()
