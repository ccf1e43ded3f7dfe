"""A node's side of the leases: it says what it is, keeps what it holds alive, lets go when told.

The heartbeat is a thread of its own, outside Celery's pool: a busy or stuck pool does not silence
it, and a frozen process does.
"""

import json
import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import redis

from ..models.lease import scripts
from ..models.lease.capacity import Capacity

BEAT_S = 2.0
TTL_MS = 6_000  # three heartbeats
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Membership:
    """This worker's membership in the fleet.

    Args:
        client: a connection to the queue's server, with `decode_responses`.
        stop: called with an attempt that this node holds no longer, or that was cancelled.
        hello: what home is told of the node beside its capacity.
    """

    client: "redis.Redis"
    node: str
    capacity: Capacity
    stop: Callable[[str], None]
    hello: Mapping[str, object]
    incarnation: str = field(default_factory=lambda: uuid.uuid4().hex)
    _held: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _leaving: threading.Event = field(default_factory=threading.Event)

    def join(self) -> None:
        """Say hello and begin to beat.

        Raises:
            redis.RedisError: the server does not answer.
        """
        self.say_hello()
        threading.Thread(target=self._beat_on, daemon=True, name="heartbeat").start()

    def leave(self) -> None:
        """Stop beating; what is held runs out."""
        self._leaving.set()

    def say_hello(self) -> None:
        """Tell what this node is and can hold. A lease of an earlier incarnation ends by it."""
        words = (
            *(self.node, self.incarnation, self.capacity.cpu_m, self.capacity.memory_bytes),
            *(self.capacity.slots, "up", json.dumps(self.hello)),
        )
        self._run(scripts.HELLO, *words)

    def start(self, attempt: str, fence: int) -> bool:
        """Whether this node may start the attempt: once, and only while the lease is its own."""
        if not self._run(scripts.START, attempt, self.node, self.incarnation, fence, TTL_MS):
            return False
        with self._lock:
            self._held[attempt] = fence
        return True

    def finish(self, attempt: str, record: str) -> bool:
        """Send a record home and end its lease; False if the lease was no longer this node's."""
        with self._lock:
            fence = self._held.pop(attempt, 0)
        return bool(self._run(scripts.FINISH, attempt, fence, record))

    def beat(self) -> None:
        """Renew every lease that is held; stop what is ours no longer."""
        with self._lock:
            held = dict(self._held)
        words = [word for pair in held.items() for word in pair]
        unknown, *lost = self._run(scripts.BEAT, self.node, self.incarnation, TTL_MS, *words)
        for attempt in lost:
            self.stop(attempt)
        if unknown == "1":
            self.say_hello()

    def _beat_on(self) -> None:
        while not self._leaving.wait(BEAT_S):
            try:
                self.beat()
            except redis.RedisError as error:
                log.warning("no heartbeat went out: %s", error)

    def _run(self, script: str, *words: str | int) -> list[str]:
        answer: list[str] = self.client.register_script(script)(args=words)
        return answer
