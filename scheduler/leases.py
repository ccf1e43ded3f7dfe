"""Home's side of the leases: who leads, which nodes there are, grants, and what has run out.

Once `lead` was asked, everything that changes what others hold is refused with `Deposed` unless
this scheduler leads, in the step that would have done it.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import batched
from typing import Any, cast

import redis

from ..models.errors import BrokerError, Deposed
from ..models.lease import home_scripts as scripts
from ..models.lease import keys
from ..models.lease.capacity import Capacity
from ..models.lease.prelude import DEPOSED
from ..models.message import node_queue
from .node_state import FRESH_MS, NodeState, node_state

GRANT_MS = 10_000  # time for a message to reach its node, where a slot is free, and be started
LONGEST_MS = 10_000  # no lease is renewed for longer
REAP_AT_ONCE = 500
PUSH_AT_ONCE = 500
UNLED, NOBODY = 0, -1  # the lead of a run of one's own; of a scheduler that waits for its turn


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease to be granted: the attempt, the node, and the floor that it takes there."""

    attempt: str
    node: str
    floor: Capacity


@dataclass(frozen=True, slots=True)
class RunOut:
    """A lease that ran out; `started` tells whether its node had begun the attempt.

    `silent_s` is how long its node had not been heard of then; None where it never was. `gap`: the
    queue's server was away or stood still meanwhile, so that nobody could be heard.
    """

    attempt: str
    node: str
    started: bool
    silent_s: float | None = None
    gap: bool = False


class Leases:
    """One connection to the leases of a fleet.

    Raises:
        BrokerError: from every method, when the server goes away.
        Deposed: from every method that changes what others hold, where another leads.
    """

    def __init__(self, address: str) -> None:
        self._redis: redis.Redis = redis.Redis.from_url(
            address, socket_timeout=15, health_check_interval=10, decode_responses=True
        )
        self._fence = UNLED
        register = self._redis.register_script
        self._grant, self._reap = register(scripts.GRANT), register(scripts.REAP)
        self._revoke, self._lead = register(scripts.REVOKE), register(scripts.LEAD)
        self._step_down, self._despair = register(scripts.STEP_DOWN), register(scripts.DESPAIR)
        self._stop, self._push = register(scripts.STOP), register(scripts.PUSH)
        self._free = register(scripts.FREE)

    def lead(self, token: str, for_ms: int, at_least: int = 1) -> int:
        """Take or renew the lead; the fence of this lead, 0 where another leads.

        Args:
            at_least: the lowest fence that a new lead may have.
        """
        fence = int(self._run(self._lead, token, for_ms, at_least))
        self._fence = fence or NOBODY
        return fence

    def leader(self) -> str:
        """The token of the scheduler that leads; "" where none does."""
        return str(self._command("hget", keys.LEADER, "token") or "")

    def step_down(self, token: str) -> None:
        """Give up the lead."""
        self._run(self._step_down, token)

    def nodes(self) -> list[NodeState]:
        """Every node that ever said hello and was not forgotten."""
        try:
            said = self._redis.zrange(keys.BEATS, 0, -1, withscores=True)
            beats = cast(list[tuple[str, float]], said)
            seconds, micros = self._redis.time()
            pipe = self._redis.pipeline(transaction=False)
            for node, _ in beats:
                pipe.hgetall(keys.node_key(node))
            hashes = pipe.execute()
        except redis.RedisError as error:
            raise _gone(error) from error
        now_ms = seconds * 1000 + micros / 1000
        return [
            node_state(node, fields, (now_ms - beat) / 1000)
            for (node, beat), fields in zip(beats, hashes)
            if fields
        ]

    def free(self) -> dict[str, Capacity]:
        """What each node that takes trials now has free."""
        said = self._run(self._free, FRESH_MS)
        rows = itertools.batched(said, 4)
        return {node: Capacity(int(cpu), int(mem), int(slots)) for node, cpu, mem, slots in rows}

    def grant(self, wanted: Sequence[Grant]) -> list[int]:
        """Grant leases where the node is up, fresh and has room; fences, 0 where refused."""
        if not wanted:
            return []
        words: list[str | int] = [self._fence, FRESH_MS, GRANT_MS]
        for one in wanted:
            words += [one.attempt, one.node, one.floor.cpu_m, one.floor.memory_bytes]
        return [int(fence) for fence in self._run(self._grant, *words)]

    def push(self, envelopes: Iterable[tuple[str, str]]) -> None:
        """Put messages on the queues of nodes: (node, envelope) pairs.

        Raises:
            BrokerError: the server went away; what was not sent is never started.
        """
        for some in batched(envelopes, PUSH_AT_ONCE):
            words = [word for node, envelope in some for word in (node_queue(node), envelope)]
            self._run(self._push, self._fence, *words)

    def revoke(self, attempts: Sequence[str]) -> int:
        """Take back leases; their capacity is free again."""
        return int(self._run(self._revoke, self._fence, *attempts)) if attempts else 0

    def run_out(self) -> list[RunOut]:
        """End the leases whose time is over."""
        said = self._run(self._reap, self._fence, REAP_AT_ONCE, LONGEST_MS)
        return [_run_out(*one) for one in batched(said, 5)]

    def despair_of(self, nodes: Sequence[str]) -> None:
        """End the leases that nodes which are not heard of have not started."""
        if nodes:
            self._run(self._despair, self._fence, *nodes)

    def held(self, attempts: Sequence[str]) -> set[str]:
        """Those of the attempts that have a lease."""
        pipe = self._redis.pipeline(transaction=False)
        for attempt in attempts:
            pipe.exists(keys.lease_key(attempt))
        try:
            return {attempt for attempt, there in zip(attempts, pipe.execute()) if there}
        except redis.RedisError as error:
            raise _gone(error) from error

    def cancel(self, attempts: Sequence[str]) -> None:
        """Ask the nodes to stop attempts; they do so at their next heartbeat."""
        if attempts:
            self._run(self._stop, self._fence, *attempts)

    def set_state(self, node: str, state: str) -> bool:
        """Set a node `up` or `drain`; False if there is no such node."""
        if not self._command("exists", keys.node_key(node)):
            return False
        self._command("hset", keys.node_key(node), "state", state)
        return True

    def holds(self, node: str) -> tuple[str, ...]:
        """The attempts that a node holds leases of."""
        return tuple(sorted(self._command("smembers", keys.held_key(node))))

    def forget(self, node: str) -> None:
        """Drop a node that is gone for good."""
        self._command("zrem", keys.BEATS, node)
        self._command("delete", keys.node_key(node))

    def close(self) -> None:
        """Give the connections back."""
        self._redis.close()

    def _run(self, script: Any, *words: str | int) -> Any:
        try:
            return script(args=words)
        except redis.ResponseError as error:
            word, _, leads = str(error).partition(" ")
            if word == DEPOSED:
                raise Deposed(self._fence, int(leads)) from error
            raise _gone(error) from error
        except redis.RedisError as error:
            raise _gone(error) from error

    def _command(self, name: str, *words: str) -> Any:
        try:
            return getattr(self._redis, name)(*words)
        except redis.RedisError as error:
            raise _gone(error) from error


def _run_out(attempt: str, node: str, started: str, silent_ms: str, gap: str) -> RunOut:
    silent_s = float(silent_ms) / 1000 if silent_ms else None
    return RunOut(attempt, node, started == "1", silent_s, gap == "1")


def _gone(error: redis.RedisError) -> BrokerError:
    return BrokerError(f"the queue server went away: {error}")
