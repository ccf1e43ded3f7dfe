"""Which trial goes to which node: pure.

Between experiments the one with the least under way goes first (by the cores that its floors take,
over its weight). Within one, trials go out in the order of the plan, so that a block's bands run
side by side. Among the nodes that have room, a trial goes to the one that has had the fewest of its
band so far, then to the emptiest, then by chance: so bands spread evenly over nodes.

A trial at the head of its experiment that fits nowhere lets others of its experiment pass until it
has waited `AGE_S`; then a node that could hold it is kept free for it. So no floor starves.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from ..models.lease.capacity import Capacity

AGE_S = 60.0
LOOK_AT = 32  # nodes with room that are compared for one trial
PASS_BY = 64  # how far behind a head that fits nowhere others may be taken from


@dataclass(frozen=True, slots=True)
class Want:
    """A trial that may start. `since` is when it came to the head of the line (any clock)."""

    trial: str
    band: str
    floor: Capacity
    concurrency: int | None = None
    since: float = 0.0
    runtime: str = ""


@dataclass(slots=True)
class Room:
    """What a node has free; `level` is the concurrency in force on it, None while it is empty.

    `runtimes` are the kinds of pods that it offers; None: whatever is asked for.
    """

    node: str
    total: Capacity
    free: Capacity
    level: int | None = None
    running: int = 0
    runtimes: frozenset[str] | None = None

    def could_take(self, want: Want) -> bool:
        """Whether the trial may start here when nothing else runs here."""
        offered = self.runtimes is None or want.runtime in self.runtimes
        return offered and self.total.holds(want.floor)

    def takes(self, want: Want) -> bool:
        """Whether the trial may start here now."""
        level = want.concurrency or self.total.slots
        if not self.could_take(want):
            return False
        if self.running and self.level is not None and self.level != level:
            return False
        return self.running < level and self.free.holds(want.floor)

    def take(self, want: Want) -> None:
        """Count the trial in."""
        self.level = want.concurrency or self.total.slots
        self.running += 1
        self.free = Capacity(
            cpu_m=self.free.cpu_m - want.floor.cpu_m,
            memory_bytes=self.free.memory_bytes - want.floor.memory_bytes,
            slots=self.free.slots - 1,
        )


@dataclass(slots=True)
class Line:
    """One experiment's waiting trials in order, and what it has under way.

    `spread` counts, per (band, node), the trials that went there so far.
    """

    experiment: str
    waiting: list[Want]
    busy_m: int = 0
    weight: float = 1.0
    spread: Counter[tuple[str, str]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Placed:
    """A trial and the node that it goes to."""

    experiment: str
    want: Want
    node: str


def place(lines: Sequence[Line], rooms: Sequence[Room], random: Random, now: float) -> list[Placed]:
    """Place what can start now. `lines` and `rooms` are changed to show it.

    Args:
        now: on the clock of `Want.since`, seconds.
    """
    placed: list[Placed] = []
    reserved = _reserve(lines, rooms, now)
    open_lines = [line for line in lines if line.waiting]
    while open_lines:
        line = min(open_lines, key=lambda one: (one.busy_m / one.weight, one.experiment))
        found = _next(line, rooms, reserved, random)
        if found is None:
            open_lines.remove(line)
            continue
        placed.append(found)
        if not line.waiting:
            open_lines.remove(line)
    return placed


def _next(
    line: Line, rooms: Sequence[Room], reserved: dict[str, str], random: Random
) -> Placed | None:
    levels = {want.concurrency for want in line.waiting[:1]}
    tried: set[tuple[int, int]] = set()
    for index, want in enumerate(line.waiting[:PASS_BY]):
        shape = (want.floor.cpu_m, want.floor.memory_bytes)
        # A wave of another concurrency waits for its turn; a like floor was refused already.
        if want.concurrency not in levels or shape in tried:
            continue
        room = _best(line, want, rooms, reserved, random)
        if room is not None:
            del line.waiting[index]
            line.busy_m += max(1, want.floor.cpu_m)
            line.spread[want.band, room.node] += 1
            room.take(want)
            return Placed(line.experiment, want, room.node)
        tried.add(shape)
    return None


def _best(
    line: Line, want: Want, rooms: Sequence[Room], reserved: dict[str, str], random: Random
) -> Room | None:
    fit = list(itertools.islice(_fitting(want, rooms, reserved, random), LOOK_AT))
    if not fit:
        return None
    return min(fit, key=lambda room: (line.spread[want.band, room.node], room.running))


def _fitting(
    want: Want, rooms: Sequence[Room], reserved: dict[str, str], random: Random
) -> Iterator[Room]:
    """Nodes that take the trial, from a random one on."""
    start = random.randrange(len(rooms)) if rooms else 0
    for offset in range(len(rooms)):
        room = rooms[(start + offset) % len(rooms)]
        if room.takes(want) and reserved.get(room.node, want.trial) == want.trial:
            yield room


def _reserve(lines: Sequence[Line], rooms: Sequence[Room], now: float) -> dict[str, str]:
    """Nodes kept free, each for the aged head of a line that fits nowhere."""
    reserved: dict[str, str] = {}
    for line in lines:
        if not line.waiting or now - line.waiting[0].since < AGE_S:
            continue
        head = line.waiting[0]
        if any(room.takes(head) and room.node not in reserved for room in rooms):
            continue
        able = [r for r in rooms if r.could_take(head) and r.node not in reserved]
        if able:
            reserved[min(able, key=lambda r: (r.running, r.node)).node] = head.trial
    return reserved
