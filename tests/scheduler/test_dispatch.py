"""One run at a time works on a queue server."""

import threading
from collections.abc import Iterator

import pytest

from infranoise.models.errors import BrokerError
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.dispatch import OnlyOne
from infranoise.scheduler.leases import Leases

GO_ON = threading.Event()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with embedded() as address:
        yield address


def test_another_one_is_refused_until_the_first_gives_up(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infranoise.scheduler.dispatch.PATIENCE_S", 0.0)
    first, second = OnlyOne(server), OnlyOne(server)
    first.take(GO_ON)
    with pytest.raises(BrokerError, match="works on this queue server; wait for its end"):
        second.take(GO_ON)
    with pytest.raises(BrokerError, match="works on this queue server"):
        second.keep()
    first.keep()
    first.give_up()
    second.take(GO_ON)
    second.give_up()


def test_a_hold_that_ran_out_is_taken_again(server: str) -> None:
    hold, leases = OnlyOne(server), Leases(server)
    hold.take(GO_ON)
    leases.step_down(leases.leader())  # as after a long sleep of this machine
    hold.keep()
    assert leases.leader()
    hold.give_up()
    assert not leases.leader()
    leases.close()
