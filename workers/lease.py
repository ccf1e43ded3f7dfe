"""A node's side of the leases: it says what it is, keeps what it holds alive, lets go when told.

The heartbeat is a thread of its own, outside Celery's pool: a busy or stuck pool does not silence
it, and a frozen process does. A node that is cut off from the server's machine cannot be told that
its leases ended: it takes that for granted after a while, and stops what it holds.
"""

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import redis

from ..models.alive import Alive
from ..models.lease import keys, scripts
from ..models.lease.capacity import Capacity
from .sent import Sent
from .way import unreachable, way_of_pulse, way_to_work

BEAT_S = 2.0
TTL_MS = 6_000  # three heartbeats
CUT_OFF_S = TTL_MS / 1000 + BEAT_S  # by then home has ended our leases, if it is alive
ASK_AGAIN_S = 1.0
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Membership:
    """This worker's membership in the fleet.

    Args:
        client: a connection to the queue's server, with `decode_responses`.
        pulse: another, for heartbeats alone.
        stop: called with an attempt that this node holds no longer, or that was cancelled.
        hello: what home is told of the node beside its capacity.
        alive: touched when the server has answered a heartbeat.
    """

    client: "redis.Redis"
    node: str
    capacity: Capacity
    stop: Callable[[str], None]
    hello: Mapping[str, object]
    pulse: "redis.Redis | None" = None
    alive: Alive = field(default_factory=Alive)
    incarnation: str = field(default_factory=lambda: uuid.uuid4().hex)
    _held: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _state: str = "up"
    _left: threading.Event = field(default_factory=threading.Event)
    _sent: Sent = field(default_factory=Sent)
    _server: str = ""
    _connected_anew: bool = False

    @classmethod
    def of(
        cls,
        address: str,
        node: str,
        capacity: Capacity,
        stop: Callable[[str], None],
        hello: Mapping[str, object],
        alive: Alive | None = None,
    ) -> "Membership":
        """A membership with connections of its own to the server at an address."""
        made = cls(way_to_work(address), node, capacity, stop, hello)
        made.pulse = way_of_pulse(address, made._connects)
        made.alive = alive or made.alive
        return made

    def join(self) -> None:
        """Say hello and begin to beat. A server that does not answer yet is told with a beat."""
        try:
            self.say_hello()
        except redis.RedisError as error:
            log.warning("the fleet was not told of this node yet: %s", error)
        threading.Thread(target=self._beat_on, daemon=True, name="heartbeat").start()

    def leave(self) -> None:
        """Ask for nothing more; what is held stays alive.

        Raises:
            redis.RedisError: the server does not answer. It is not asked for more all the same.
        """
        self._state = "leaving"
        self._run(scripts.LEAVE, self.node, self.incarnation)

    def granted(self) -> int:
        """How many leases this node holds, those among them that it has not started.

        Raises:
            redis.RedisError: the server does not answer.
        """
        return int(self.client.scard(keys.held_key(self.node)))

    def left(self) -> None:
        """Stop beating; what is still held runs out."""
        self._left.set()

    def say_hello(self) -> None:
        """Tell what this node is and can hold. A lease of an earlier incarnation ends by it."""
        words = (
            *(self.node, self.incarnation, self.capacity.cpu_m, self.capacity.memory_bytes),
            *(self.capacity.slots, self._state, json.dumps(self.hello)),
        )
        self._run(scripts.HELLO, *words)

    def tell(self, facts: Mapping[str, object]) -> None:
        """Say hello again with these facts in place of earlier ones of their names.

        Raises:
            ConnectionError: the server does not answer; they go out with the next hello.
        """
        self.hello = {**self.hello, **facts}
        try:
            self.say_hello()
        except redis.RedisError as error:
            raise ConnectionError(str(error)) from error

    def server_time_s(self) -> float:
        """The server's clock, by which leases run: Unix seconds.

        Raises:
            ConnectionError: the server does not answer.
        """
        try:
            seconds, micros = self.client.time()
        except redis.RedisError as error:
            raise ConnectionError(str(error)) from error
        return float(seconds) + float(micros) / 1e6

    def start(self, attempt: str, fence: int) -> bool:
        """Whether this node may start the attempt: once, and only while the lease is its own."""
        holder = (attempt, self.node, self.incarnation, fence, TTL_MS, uuid.uuid4().hex)
        if not self._run(scripts.START, *holder):
            return False
        with self._lock:
            self._held[attempt] = fence
        return True

    def finish(self, attempt: str, record: str) -> bool:
        """Send a record home and end its lease; False if the lease was no longer this node's.

        Asks again until the server answers: meanwhile the lease is kept, if it can be.

        Raises:
            redis.RedisError: the worker left before the server answered.
        """
        with self._lock:
            fence = self._held.get(attempt, 0)
        waits = False
        while True:
            try:
                ours = bool(self._run(scripts.FINISH, attempt, fence, record))
            except redis.RedisError as error:
                if not waits:
                    log.warning("the record of %s waits: %s", attempt, error)
                    waits = True
                if self._left.wait(ASK_AGAIN_S):
                    raise
                continue
            self._sent.add(attempt, fence, record)
            self.let_go(attempt)
            return ours

    def let_go(self, attempt: str) -> None:
        """Keep an attempt's lease alive no longer."""
        with self._lock:
            self._held.pop(attempt, None)

    def beat(self) -> None:
        """Renew every lease that is held; stop what is ours no longer.

        Raises:
            redis.RedisError: the server does not answer.
        """
        with self._lock:
            held = dict(self._held)
        words = [word for pair in held.items() for word in pair]
        pulse = self.pulse or self.client
        answer = pulse.register_script(scripts.BEAT)(
            args=(self.node, self.incarnation, TTL_MS, *words)
        )
        unknown, *lost = answer
        for attempt in lost:
            self.stop(attempt)
        if unknown == "1":
            self.say_hello()
        if self._connected_anew:
            self._look_who_answers(pulse)
            self._connected_anew = False
        self._sent.forget_old()
        self.alive.touch()

    def _connects(self) -> None:
        self._connected_anew = True

    def _look_who_answers(self, pulse: "redis.Redis") -> None:
        """A server that was begun anew may have lost what it took last: send it once more."""
        try:
            server = str(pulse.info("server")["run_id"])
        except redis.ResponseError:  # we may not ask: take it for a new one
            server = uuid.uuid4().hex
        lately = self._sent.all() if self._server not in ("", server) else []
        self._server = server
        for attempt, fence, record in lately:
            log.warning("the queue's server began anew: the record of %s goes once more", attempt)
            self._run(scripts.FINISH, attempt, fence, record)

    def _beat_on(self) -> None:
        heard_at = time.monotonic()
        while not self._left.wait(BEAT_S):
            asked_at = time.monotonic()
            try:
                self.beat()
                heard_at = asked_at
            except redis.RedisError as error:
                log.warning("no heartbeat went out: %s", error)
                if asked_at - heard_at > CUT_OFF_S:
                    self._stop_if_cut_off()
            except Exception:  # whatever it is, a heart that stands still is a lost node
                log.exception("a heartbeat failed")

    def _stop_if_cut_off(self) -> None:
        with self._lock:
            held = tuple(self._held)
        if held and unreachable(self.pulse or self.client):
            log.warning("cut off from the queue's server: what runs here is nobody's")
            for attempt in held:
                self.stop(attempt)

    def _run(self, script: str, *words: str | int) -> list[str]:
        answer: list[str] = self.client.register_script(script)(args=words)
        return answer
