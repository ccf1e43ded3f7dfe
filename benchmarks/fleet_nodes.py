"""The nodes of a simulated fleet: they say hello, beat, start what they are sent, and finish it.

    python benchmarks/fleet_nodes.py BROKER NODES MEAN_S

Run by `thousand_nodes.py`, in a process of its own. What a node does to the queue server is what a
real one does (the same scripts, the same queues); only the pods are left out: an attempt lasts as
long as its trial's seed says. Writes one JSON line when the scheduler's end of standard input is
closed: what each node held at most, against what it has.
"""

import base64
import heapq
import json
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import batched
from random import Random

import redis

from infranoise.models.conditions import Clocks, Conditions, Usage
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.execution import Stream
from infranoise.models.lease import scripts
from infranoise.models.lease.capacity import Capacity, floor_of
from infranoise.models.limits import Effective
from infranoise.models.message import AttemptMessage, AttemptRecord, Logs, node_queue
from infranoise.workers.lease import BEAT_S, TTL_MS

GIB = 2**30
SIZES = ((4_000, 16), (8_000, 32), (16_000, 64), (64_000, 256))  # milli-cores, GiB
SLOTS = 8
ROUND_S = 0.2  # how often every queue is looked at


@dataclass(slots=True)
class Node:
    """One simulated node: what it has, and the most that it ever held at one moment."""

    name: str
    total: Capacity
    held: dict[str, tuple[int, Capacity]] = field(default_factory=dict)
    most_cpu_m: int = 0
    most_memory_bytes: int = 0
    most_slots: int = 0

    def count(self) -> None:
        """Look at what is held now."""
        floors = [floor for _, floor in self.held.values()]
        self.most_cpu_m = max(self.most_cpu_m, sum(floor.cpu_m for floor in floors))
        self.most_memory_bytes = max(self.most_memory_bytes, sum(f.memory_bytes for f in floors))
        self.most_slots = max(self.most_slots, len(floors))

    @property
    def oversubscribed(self) -> bool:
        """Whether it ever held more than it has."""
        return (
            self.most_cpu_m > self.total.cpu_m
            or self.most_memory_bytes > self.total.memory_bytes
            or self.most_slots > self.total.slots
        )


def nodes(count: int) -> list[Node]:
    """Nodes of four sizes: half are small, few are large."""
    shares = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3)
    sizes = [SIZES[shares[place % len(shares)]] for place in range(count)]
    return [
        Node(f"sim-{place:04}", Capacity(cpu_m, gib * GIB, SLOTS))
        for place, (cpu_m, gib) in enumerate(sizes)
    ]


class SimulatedFleet:
    """All nodes on one connection. One thread."""

    def __init__(self, broker: str, count: int, mean_s: float) -> None:
        self.redis: redis.Redis = redis.Redis.from_url(broker, decode_responses=True)
        self.nodes = {node.name: node for node in nodes(count)}
        self.mean_s, self.longest_s = mean_s, 0.0
        self.ending: list[tuple[float, str, AttemptMessage]] = []
        self.beat = self.redis.script_load(scripts.BEAT)
        self.start = self.redis.script_load(scripts.START)
        self.finish = self.redis.script_load(scripts.FINISH)
        self.where: dict[str, str] = {}
        self.told: Counter[str] = Counter()

    def hello(self) -> None:
        """Every node says what it has."""
        script = self.redis.script_load(scripts.HELLO)
        for some in batched(self.nodes.values(), 100):
            pipe = self.redis.pipeline(transaction=False)
            for node in some:
                has = (node.total.cpu_m, node.total.memory_bytes, node.total.slots)
                pipe.evalsha(script, 0, node.name, "1", *has, "up", '{"runtimes": {"process": ""}}')
            pipe.execute()

    def live(self, stop: threading.Event) -> None:
        """Be the nodes until told to stop."""
        beats = {name: Random(name).uniform(0, BEAT_S) for name in self.nodes}
        began = time.monotonic()
        due = [(began + after, name) for name, after in beats.items()]
        heapq.heapify(due)
        while not stop.wait(ROUND_S):
            now = time.monotonic()
            self._take(now)
            self._end(now)
            beating = []
            while due[0][0] <= now:
                at, name = heapq.heappop(due)
                beating.append(name)
                heapq.heappush(due, (max(at + BEAT_S, now), name))
            self._beat(beating)

    def _take(self, now: float) -> None:
        names = list(self.nodes)
        pipe = self.redis.pipeline(transaction=False)
        for name in names:
            pipe.rpop(node_queue(name), SLOTS)
        orders = [
            (name, AttemptMessage.decode(json.loads(_body(envelope))[0][0]))
            for name, envelopes in zip(names, pipe.execute())
            for envelope in envelopes or ()
        ]
        pipe = self.redis.pipeline(transaction=False)
        for name, order in orders:
            pipe.evalsha(self.start, 0, order.attempt_id, name, "1", order.fence, TTL_MS, "call")
        for (name, order), ours in zip(orders, pipe.execute()):
            self.told["started" if ours else "refused"] += 1
            if ours:
                self._begin(self.nodes[name], order, now)

    def _begin(self, node: Node, order: AttemptMessage, now: float) -> None:
        lasts_s = min(Random(order.seed).expovariate(1 / self.mean_s), 4 * self.mean_s)
        self.longest_s = max(self.longest_s, lasts_s)
        node.held[order.attempt_id] = (order.fence, floor_of(order.limits))
        node.count()
        heapq.heappush(self.ending, (now + lasts_s, order.attempt_id, order))
        self.where[order.attempt_id] = node.name

    def _end(self, now: float) -> None:
        over = []
        while self.ending and self.ending[0][0] <= now:
            _, attempt, order = heapq.heappop(self.ending)
            node = self.nodes[self.where.pop(attempt)]
            fence, _ = node.held.pop(attempt)
            over.append((attempt, fence, _record(order, node.name).encode()))
        pipe = self.redis.pipeline(transaction=False)
        for attempt, fence, text in over:
            pipe.evalsha(self.finish, 0, attempt, fence, text)
        self.told["finished"] += sum(pipe.execute())

    def _beat(self, names: list[str]) -> None:
        pipe = self.redis.pipeline(transaction=False)
        for name in names:
            held = self.nodes[name].held
            words = [word for attempt, (fence, _) in held.items() for word in (attempt, fence)]
            pipe.evalsha(self.beat, 0, name, "1", TTL_MS, *words)
        self.told["lost"] += sum(len(answer) - 1 for answer in pipe.execute())


def _body(envelope: str) -> str:
    made = json.loads(envelope)
    body = made["body"]
    coded = made["properties"].get("body_encoding") == "base64"
    return base64.b64decode(body).decode() if coded else body


def _record(order: AttemptMessage, node: str) -> AttemptRecord:
    """The record of a trial that passed."""
    return AttemptRecord(
        attempt_id=order.attempt_id,
        trial_id=order.trial_id,
        experiment=order.experiment,
        number=order.number,
        evidence=Evidence(
            phases=(Phase(name="agent", exit_code=0), Phase(name="verifier", exit_code=0)),
            reward=1.0,
        ),
        conditions=Conditions(
            node=node,
            node_profile="simulated",
            runtime=order.runtime,
            network=order.network,
            requested=order.limits,
            effective=Effective(enforcement="none"),
            slots=SLOTS,
            hour_utc=None,
            weekday=None,
        ),
        usage=Usage(),
        clocks=Clocks(received_at=time.time(), ended_at=time.time()),
        logs=Logs(agent=Stream(), verifier=Stream()),
        worker_version="simulated",
    )


def main() -> None:
    """Live until standard input ends; then tell."""
    broker, count, mean_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    fleet = SimulatedFleet(broker, count, mean_s)
    fleet.hello()
    print("up", flush=True)
    stop = threading.Event()

    def wait_for_parent() -> None:
        sys.stdin.buffer.read()
        stop.set()

    threading.Thread(target=wait_for_parent, daemon=True).start()
    fleet.live(stop)
    over = [node.name for node in fleet.nodes.values() if node.oversubscribed]
    told = dict(fleet.told) | {"oversubscribed": over, "longest_s": fleet.longest_s}
    print(json.dumps(told | {"cpu_s": time.process_time()}), flush=True)


if __name__ == "__main__":
    main()
