"""A node's heartbeat when the queue's server, or the way to it, fails."""

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from own_fleet import until
from own_valkey import OwnValkey

from infranoise.models.lease import keys
from infranoise.models.lease.capacity import Capacity
from infranoise.scheduler.leases import Grant, Leases
from infranoise.workers import lease
from infranoise.workers.lease import Membership
from infranoise.workers.sent import KEPT_S, Sent
from infranoise.workers.way import unreachable, way_of_pulse

NOWHERE = "redis://192.0.2.1:6379/0"  # RFC 5737: nobody is there


@pytest.fixture
def server(tmp_path: Path) -> Iterator[OwnValkey]:
    made = OwnValkey(tmp_path / "queue")
    made.start()
    yield made
    made.end(signal.SIGKILL)


@pytest.fixture
def stopped() -> list[str]:
    """What the node was told to stop."""
    return []


@pytest.fixture
def member(server: OwnValkey, stopped: list[str]) -> Membership:
    """A node that said hello and holds what it has begun, the attempt `a`."""
    made = Membership.of(server.address, "n", Capacity(4000, 1000, 4), stopped.append, {})
    made.say_hello()
    home = Leases(server.address)
    (fence,) = home.grant([Grant("a", "n", Capacity(1000, 100))])
    home.close()
    assert made.start("a", fence)
    made.beat()
    return made


def forget(server: OwnValkey) -> None:
    """Kill the server, and take from it what it holds."""
    server.end(signal.SIGKILL)
    for file in (server.folder / "appendonlydir").iterdir():
        file.unlink()
    server.start()


def test_a_record_that_a_killed_server_lost_is_sent_once_more(
    server: OwnValkey, member: Membership
) -> None:
    assert member.finish("a", "{}")
    forget(server)
    with server.client() as client:
        assert not client.xlen(keys.RECORDS)
        for _ in range(2):
            member.beat()
        assert client.xlen(keys.RECORDS) == 1


def test_a_connection_that_broke_sends_nothing_twice(server: OwnValkey, member: Membership) -> None:
    member.finish("a", "{}")
    with server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)
        member.beat()
        assert client.xlen(keys.RECORDS) == 1


def test_what_is_on_the_servers_disk_is_forgotten_here(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, now = Sent(), [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    sent.add("old", 1, "{}")
    now[0] += KEPT_S + 1
    sent.add("new", 2, "{}")
    sent.forget_old()
    assert sent.all() == [("new", 2, "{}")]


def test_a_start_whose_answer_was_lost_may_be_asked_again(
    server: OwnValkey, member: Membership
) -> None:
    home = Leases(server.address)
    (fence,) = home.grant([Grant("b", "n", Capacity(1000, 100))])
    home.close()
    ask = ("b", "n", member.incarnation, fence, 6_000)
    with server.client() as client:
        start = client.register_script(lease.scripts.START)
        assert [start(args=(*ask, word)) for word in ("x", "x", "y")] == [1, 1, 0]


class TestCutOff:
    @pytest.fixture
    def lonely(
        self, server: OwnValkey, member: Membership, monkeypatch: pytest.MonkeyPatch
    ) -> Callable[[str], Membership]:
        """The node, whose heartbeat goes to this address from now on; every beat is late."""
        monkeypatch.setattr(lease, "BEAT_S", 0.05)
        monkeypatch.setattr(lease, "CUT_OFF_S", 0.2)
        monkeypatch.setattr("infranoise.workers.way.PULSE_TIMEOUT_S", 0.2)

        def cut(address: str) -> Membership:
            member.pulse = way_of_pulse(address, lambda: None)
            return member

        return cut

    def test_what_runs_is_stopped_when_the_servers_machine_is_out_of_reach(
        self, lonely: Callable[[str], Membership], stopped: list[str]
    ) -> None:
        member = lonely(NOWHERE)
        told = threading.Event()
        member.stop = lambda attempt: (stopped.append(attempt), told.set())
        member.join()
        assert told.wait(60)
        member.left()
        assert set(stopped) == {"a"}

    def test_a_server_that_is_down_or_stands_still_is_within_reach(self, server: OwnValkey) -> None:
        pulse = way_of_pulse(server.address, lambda: None)
        server.send(signal.SIGSTOP)
        assert not unreachable(pulse)
        server.send(signal.SIGCONT)
        server.end()
        assert not unreachable(pulse)

    def test_a_name_that_is_not_known_tells_nothing(self) -> None:
        assert not unreachable(way_of_pulse("redis://queue.invalid:6379/0", lambda: None))

    def test_what_runs_goes_on_while_the_server_is_down(
        self, server: OwnValkey, lonely: Callable[[str], Membership], stopped: list[str]
    ) -> None:
        member = lonely(server.address)
        server.end()
        member._stop_if_cut_off()
        assert not stopped


def test_a_node_that_came_before_its_server_joins_when_that_is_there(tmp_path: Path) -> None:
    server = OwnValkey(tmp_path / "late")
    early = Membership.of(server.address, "early", Capacity(4000, 1000, 4), lambda _: None, {})
    early.join()
    try:
        server.start()
        home = Leases(server.address)
        until(lambda: [node.id for node in home.nodes()] == ["early"], "the node is known")
        home.close()
    finally:
        early.left()
        server.end(signal.SIGKILL)
        for way in (early.client, early.pulse):
            if way is not None:
                way.close()
