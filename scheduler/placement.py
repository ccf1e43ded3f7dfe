"""Which trial goes to which node: pure.

Between experiments the one with the least under way goes first (by the cores that its floors take,
over its weight). Within one, trials go out in the order of the plan, so that a block's bands run
side by side. Among the nodes that have room, a trial goes to the one that has had the fewest of its
band so far, then to the emptiest, then by chance: so bands spread evenly over nodes.

A trial at the head of its experiment that fits nowhere lets others of its experiment pass until it
has waited `AGE_S`; then a node that could hold it is kept free for it. So no floor starves. Those
that pass are of its own wave or of the next: else a band with large floors would be left for hours
in which the others are done.
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ..models.lease.capacity import Capacity

AGE_S = 60.0
LOOK_AT = 32  # nodes with room that are compared for one trial
WAVES_AHEAD = 1  # how many waves further than the head's those that pass may be
PASS_BY = 64  # how far behind a head that fits nowhere others may be taken from


@dataclass(frozen=True, slots=True)
class Want:
    """A trial that may start. `since` is when it came to the head of the line (any clock).

    `provider` is whose API it will use; "" where it uses none. `link` names the link of its pod.
    """

    trial: str
    band: str
    floor: Capacity
    concurrency: int | None = None
    since: float = 0.0
    runtime: str = ""
    wave: int = 0
    provider: str = ""
    link: str = ""


@dataclass(slots=True)
class Room:
    """What a node has free; `level` is the concurrency in force on it, None while it is empty.

    `runtimes` are the kinds of pods that it offers; None: whatever is asked for. `no_links` has the
    links that it cannot make, by kind of pod and name.
    """

    node: str
    total: Capacity
    free: Capacity
    level: int | None = None
    running: int = 0
    runtimes: frozenset[str] | None = None
    no_links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def could_take(self, want: Want) -> bool:
        """Whether the trial may start here when nothing else runs here."""
        if self.runtimes is not None and want.runtime not in self.runtimes:
            return False
        if want.link in self.no_links.get(want.runtime, ()):
            return False
        return self.total.holds(want.floor)

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

    `spread` counts, per (band, node), the trials that went there so far. `provider_room` is how
    many more trials each provider with a cap may have in flight: a trial beyond it waits here, and
    takes no slot of a node meanwhile.
    """

    experiment: str
    waiting: list[Want]
    busy_m: int = 0
    weight: float = 1.0
    spread: Counter[tuple[str, str]] = field(default_factory=Counter)
    provider_room: dict[str, int] = field(default_factory=dict)

    def capped(self, want: Want) -> bool:
        """Whether the trial's provider takes no more now."""
        return self.provider_room.get(want.provider, 1) <= 0

    def opens(self, want: Want, room: Room) -> bool:
        """Whether the trial may be the first on an empty node.

        Where concurrency is what is measured, a provider's cap must not leave a node half full: a
        node is begun only when the cap lets it be filled, or all that wait fit under the cap.
        """
        left = self.provider_room.get(want.provider)
        if left is None or want.concurrency is None or room.running:
            return True
        if left >= want.concurrency:
            return True
        return left >= sum(one.provider == want.provider for one in self.waiting)


@dataclass(frozen=True, slots=True)
class Placed:
    """A trial and the node that it goes to."""

    experiment: str
    want: Want
    node: str


@dataclass(slots=True)
class _Round:
    """The nodes in one round, and what was refused in it: room only ever gets less meanwhile."""

    rooms: list[Room]
    reserved: dict[str, str]
    random: Random
    refused: dict[tuple[str, str, int | None, str], list[Capacity]] = field(default_factory=dict)

    def best(self, want: Want, line: Line) -> Room | None:
        """The node for a trial, None where it fits nowhere now."""
        capped = want.provider if want.provider in line.provider_room else ""
        whose = f"{line.experiment} {capped}" if capped else ""
        kind = (want.runtime, want.link, want.concurrency, whose)
        refused = self.refused.setdefault(kind, [])
        if any(map(want.floor.holds, refused)):
            return None
        fitting = (room for room in self._fitting(want) if line.opens(want, room))
        fit = list(itertools.islice(fitting, LOOK_AT))
        if not fit:
            refused.append(want.floor)
            return None
        if capped and want.concurrency is not None:
            fit = [room for room in fit if room.running] or fit  # fill a node, then begin the next
        return min(fit, key=lambda room: (line.spread[want.band, room.node], room.running))

    def _fitting(self, want: Want) -> Iterator[Room]:
        """Nodes that take the trial, from a random one on."""
        start = self.random.randrange(len(self.rooms)) if self.rooms else 0
        for room in itertools.chain(self.rooms[start:], self.rooms[:start]):
            if room.takes(want) and self.reserved.get(room.node, want.trial) == want.trial:
                yield room

    def take(self, room: Room, want: Want) -> None:
        """Count a trial in; a node without a slot is looked at no more."""
        room.take(want)
        if room.free.slots < 1:
            self.rooms.remove(room)


def place(lines: Sequence[Line], rooms: Sequence[Room], random: Random, now: float) -> list[Placed]:
    """Place what can start now. `lines` and `rooms` are changed to show it.

    Args:
        now: on the clock of `Want.since`, seconds.
    """
    placed: list[Placed] = []
    with_slots = [room for room in rooms if room.free.slots >= 1]
    this_round = _Round(with_slots, _reserve(lines, rooms, now), random)
    open_lines = [line for line in lines if line.waiting]
    while open_lines:
        line = min(open_lines, key=lambda one: (one.busy_m / one.weight, one.experiment))
        found = _next(line, this_round)
        if found is None:
            open_lines.remove(line)
            continue
        placed.append(found)
        if not line.waiting:
            open_lines.remove(line)
    return placed


def _next(line: Line, this_round: _Round) -> Placed | None:
    level, last = line.waiting[0].concurrency, line.waiting[0].wave + WAVES_AHEAD
    may_start = (pair for pair in enumerate(line.waiting) if not line.capped(pair[1]))
    for index, want in itertools.islice(may_start, PASS_BY):
        if want.concurrency != level or want.wave > last:  # these wait for their turn
            continue
        room = this_round.best(want, line)
        if room is not None:
            del line.waiting[index]
            line.busy_m += max(1, want.floor.cpu_m)
            line.spread[want.band, room.node] += 1
            if want.provider in line.provider_room:
                line.provider_room[want.provider] -= 1
            this_round.take(room, want)
            return Placed(line.experiment, want, room.node)
    return None


def _reserve(lines: Sequence[Line], rooms: Sequence[Room], now: float) -> dict[str, str]:
    """Nodes kept free, each for the aged head of a line that fits nowhere."""
    reserved: dict[str, str] = {}
    for line in lines:
        if not line.waiting or now - line.waiting[0].since < AGE_S:
            continue
        head = line.waiting[0]
        if line.capped(head) or any(
            room.takes(head) and room.node not in reserved for room in rooms
        ):
            continue
        able = [r for r in rooms if r.could_take(head) and r.node not in reserved]
        if able:
            reserved[min(able, key=lambda r: (r.running, r.node)).node] = head.trial
    return reserved
