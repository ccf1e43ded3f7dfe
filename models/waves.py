"""Planned trials and waves: what a plan is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from .trial import TrialKey

Levels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PlannedTrial:
    """One trial: its id, key, wave, and place in the order of dispatch (from 0)."""

    id: str
    key: TrialKey
    wave: int
    position: int


@dataclass(frozen=True, slots=True)
class Wave:
    """A block of trials that is placed together. `levels` are what is set for the whole wave.

    A large plan makes its `trials` anew whenever they are read; keep them if you need them twice.
    """

    number: int
    levels: Levels
    trials: Sequence[PlannedTrial]

    @property
    def concurrency(self) -> int | None:
        """Trials in flight per node while this wave runs; None: the node's own number."""
        return next((int(level) for name, level in self.levels if name == "concurrency"), None)
