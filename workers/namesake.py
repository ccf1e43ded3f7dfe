"""Whether another worker lives under a node's id: each node has an id of its own."""

import time

import redis

from ..models.lease import keys
from .lease import BEAT_S, TTL_MS


def somebody_else(broker: str, node: str) -> bool:
    """Whether another worker lives under this node's id now; may wait two heartbeats to tell.

    Raises:
        redis.RedisError: the server does not answer.
    """
    with redis.Redis.from_url(broker, socket_timeout=15) as client:
        before = client.zscore(keys.BEATS, node)
        seconds, micros = client.time()
        if before is None or seconds * 1000 + micros / 1000 - float(before) > 2 * TTL_MS:
            return False
        deadline = time.monotonic() + 2 * BEAT_S
        while time.monotonic() < deadline:
            if client.zscore(keys.BEATS, node) != before:
                return True
            time.sleep(BEAT_S / 10)
    return False
