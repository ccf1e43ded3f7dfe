"""The queue's server: embedded with a password of its own, or one that runs already."""

import os
import signal
import subprocess
import sys

import pytest
import redis

from infranoise.models.errors import BrokerError
from infranoise.scheduler.broker import broker, check, without_password


@pytest.fixture(scope="module")
def address():  # type: ignore[no-untyped-def]
    with broker(None) as own:
        yield own


def test_the_embedded_server_speaks_the_redis_protocol(address: str) -> None:
    with redis.Redis.from_url(address) as client:
        client.set("k", "v")
        assert client.get("k") == b"v"


def test_a_stranger_may_do_nothing_but_ping(address: str) -> None:
    anonymous = "redis://" + address.rpartition("@")[2]
    with redis.Redis.from_url(anonymous) as client:
        assert client.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.get("k")


def test_the_embedded_server_is_gone_afterwards() -> None:
    with broker(None) as own:
        pass
    with pytest.raises(BrokerError, match="does not answer"):
        check(own)


def test_a_given_server_is_used_and_left_alone(address: str) -> None:
    with broker(address) as given:
        assert given == address
    check(address)


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    with (
        pytest.raises(BrokerError, match=r"127\.0\.0\.1:1/0 does not answer") as caught,
        broker("redis://user:hush@127.0.0.1:1/0"),
    ):
        pass
    assert "hush" not in str(caught.value)
    assert "INFRANOISE_BROKER_URL" in str(caught.value)


@pytest.mark.parametrize("address", ["nonsense", "http://127.0.0.1/"])
def test_an_address_of_another_kind_is_refused(address: str) -> None:
    with pytest.raises(BrokerError, match="INFRANOISE_BROKER_URL"), broker(address):
        pass


def test_a_password_is_not_shown() -> None:
    assert without_password("redis://a:b@host:1/0") == "redis://host:1/0"


HOLD = """
import sys
from infranoise.scheduler.broker import broker
with broker(None) as own:
    print(own, flush=True)
    sys.stdin.read()
"""


def test_the_embedded_server_dies_with_a_killed_parent() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    own = parent.stdout.readline().strip()
    with redis.Redis.from_url(own) as client:
        blocked = client.connection_pool.get_connection()
        blocked.send_command("BLPOP", "nothing", 0)
        os.kill(parent.pid, signal.SIGKILL)
        parent.communicate()
        with pytest.raises(redis.exceptions.ConnectionError):  # the event: our connection ends
            blocked.read_response()
