"""A schedule of faults, drawn from a seed, played on a fleet that is at work."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import redis

from infranoise.models.errors import InfranoiseError

from .aim import Missed
from .faults import KINDS
from .stage import Stage

TOGETHER = 2  # faults that may last at one time
TRIES = 4  # a fault that finds nothing to break is tried again


@dataclass(frozen=True)
class Happened:
    """One fault: its kind, when it began (seconds from the start), and what it did."""

    kind: str
    at_s: float
    words: str


@dataclass
class Schedule:
    """Faults of many kinds in random order, each kind about as often as the others."""

    seed: int
    kinds: Sequence[str]
    faults: int
    pause_s: tuple[float, float]
    happened: list[Happened] = field(default_factory=list)
    missed: Counter[str] = field(default_factory=Counter)
    broke: list[BaseException] = field(default_factory=list)

    def order(self) -> list[str]:
        """The kinds in the order in which they come: the same for one seed."""
        random, order = Random(f"order\x00{self.seed}"), []
        while len(order) < self.faults:
            order += random.sample(list(self.kinds), len(self.kinds))
        return order[: self.faults]

    def play(self, stage: Stage, feed: Callable[[], None], until_s: float) -> None:
        """Play it all, or until the time is over; `feed` keeps the fleet at work.

        One queue server or ledger is broken at a time; other faults may last beside it.
        """
        random, began = Random(f"play\x00{self.seed}"), time.monotonic()
        room, alone = threading.Semaphore(TOGETHER), threading.Lock()
        threads: list[threading.Thread] = []
        for number, kind in enumerate(self.order()):
            if time.monotonic() - began > until_s:
                break
            feed()
            room.acquire()
            own = Random(f"{self.seed}\x00{number}")
            words = (stage, kind, own, began, room, alone)
            threads.append(threading.Thread(target=self._one, args=words))
            threads[-1].start()
            time.sleep(random.uniform(*self.pause_s))
        for thread in threads:
            thread.join()
        if self.broke:  # the suite itself, not the fleet
            raise self.broke[0]

    def _one(
        self,
        stage: Stage,
        kind: str,
        random: Random,
        began: float,
        room: threading.Semaphore,
        alone: threading.Lock,
    ) -> None:
        server = kind.startswith(("queue server", "ledger", "queue's"))
        try:
            with alone if server else threading.Lock():
                self._break(stage, kind, random, began)
        except Exception as error:
            self.broke.append(error)
        finally:
            room.release()

    def _break(self, stage: Stage, kind: str, random: Random, began: float) -> None:
        for _ in range(TRIES):
            at_s = time.monotonic() - began
            try:
                words = KINDS[kind](stage, random)
            except (Missed, InfranoiseError, OSError, redis.RedisError):
                time.sleep(1)
                continue
            self.happened.append(Happened(kind, at_s, words))
            return
        self.missed[kind] += 1
