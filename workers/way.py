"""A worker's ways to the queue's server: one for its work, one for its heartbeat.

The heartbeat gives up soon and asks again: a link that was cut must not keep it waiting for longer
than a lease lasts.
"""

import socket
from collections.abc import Callable

import redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.retry import Retry

WORK_TIMEOUT_S = 5.0
PULSE_TIMEOUT_S = 2.0


def way_to_work(address: str) -> "redis.Redis":
    """A client for what a worker asks and tells; asks again a few times by itself."""
    return redis.Redis.from_url(
        address,
        socket_timeout=WORK_TIMEOUT_S,
        socket_connect_timeout=WORK_TIMEOUT_S,
        health_check_interval=10,
        retry=Retry(ExponentialBackoff(cap=1.0, base=0.1), 3),
        decode_responses=True,
    )


def way_of_pulse(address: str, on_connect: Callable[[], None]) -> "redis.Redis":
    """A client for heartbeats alone; `on_connect` is called for each new connection."""

    def greet(connection: "redis.Connection") -> None:
        connection.on_connect()  # type: ignore[no-untyped-call]
        on_connect()

    return redis.Redis.from_url(
        address,
        socket_timeout=PULSE_TIMEOUT_S,
        socket_connect_timeout=PULSE_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        redis_connect_func=greet,
        decode_responses=True,
    )


def unreachable(client: "redis.Redis") -> bool:
    """Whether the machine of the queue's server cannot be reached from here.

    A server that is down or stands still is no such case: its machine answers, and while the server
    is away nobody can take a lease from us. A name that cannot be looked up tells nothing.
    """
    asked = client.connection_pool.connection_kwargs
    if "host" not in asked:
        return False
    try:
        socket.create_connection((asked["host"], asked["port"]), PULSE_TIMEOUT_S).close()
    except (ConnectionRefusedError, socket.gaierror):
        return False
    except OSError:
        return True
    return False
