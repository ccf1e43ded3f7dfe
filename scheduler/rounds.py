"""Rounds as they complete, and whether the run may stop after one.

A round is one sample of every cell: one wave per set of wave-level levels. Whoever starts a run may
hand in a judge, who is asked once after every round that completes, in their order.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from sqlalchemy import Engine

from ..models.ledger.rounds import open_by_round


@dataclass(frozen=True, slots=True)
class Stop:
    """A judge's word that the run has seen enough: in a sentence, and the numbers as JSON."""

    sentence: str
    document: str


type Judge = Callable[[int], Stop | None]
"""Told how many rounds are complete, from the first on; None: go on."""


@dataclass(slots=True)
class Watch:
    """Counts down the rounds of one experiment and asks the judge, until it says stop."""

    judge: Judge
    stopped: bool = False
    _waiting: Counter[int] | None = None

    def begin(self, engine: Engine, experiment: str) -> Stop | None:
        """Take up an experiment as it stands: what ran before may have been enough."""
        if self._waiting is not None:
            return None
        self._waiting = open_by_round(engine, experiment)
        return self._ask()

    def ended(self, sample: int) -> Stop | None:
        """One more trial of a round has its outcome."""
        if self._waiting is None:
            return None
        self._waiting[sample] -= 1
        return None if self._waiting[sample] else self._ask()

    def _ask(self) -> Stop | None:
        complete = self._complete()
        if self.stopped or not complete:
            return None
        stop = self.judge(complete)
        self.stopped = stop is not None
        return stop

    def _complete(self) -> int:
        """Rounds without an open trial, from the first to the last before one that has some."""
        waiting = self._waiting or Counter()
        return sum(1 for _ in takewhile(lambda sample: not waiting[sample], sorted(waiting)))
