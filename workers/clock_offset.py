"""How far this node's clock is from the scheduler's, by asking for the time there.

Source: Cristian (1989), Probabilistic clock synchronization, Distributed Computing 3:146-158: of
several answers the one with the shortest way there and back has the smallest bound.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

TRIES = 5


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """This clock was `offset_s` ahead of the other, off by `error_s` at most."""

    offset_s: float
    error_s: float


def closest(answers: Iterable[tuple[float, float, float]]) -> ClockOffset:
    """The best of some answers, each (asked at, told time, answered at), in seconds.

    >>> closest([(10.0, 8.0, 10.4), (20.0, 18.0, 20.1)])
    ClockOffset(offset_s=2.05, error_s=0.05)
    """
    rows = [
        ClockOffset(round((sent + received) / 2 - told, 6), round((received - sent) / 2, 6))
        for sent, told, received in answers
    ]
    return min(rows, key=lambda row: row.error_s)


def measured(ask: Callable[[], float], tries: int = TRIES) -> ClockOffset:
    """Ask for the other's time (Unix seconds) some times, and compare.

    The way is measured on the monotonic clock, so that a step of ours does not enter it.
    """
    answers = []
    for _ in range(tries):
        sent, since = time.time(), time.monotonic()
        told = ask()
        answers.append((sent, told, sent + time.monotonic() - since))
    return closest(answers)


@dataclass(frozen=True, slots=True)
class Instant:
    """One moment on three clocks of this machine: of the day, monotonic, and with sleep."""

    at: float
    monotonic_s: float
    boot_s: float

    @classmethod
    def now(cls) -> "Instant":
        """This moment."""
        return cls(time.time(), time.monotonic(), time.clock_gettime(time.CLOCK_BOOTTIME))

    def step_s(self, later: "Instant") -> float:
        """How far the clock of the day was set forward since, beyond the time that passed."""
        return (later.at - self.at) - (later.boot_s - self.boot_s)

    def suspended_s(self, later: "Instant") -> float:
        """How long the machine slept since."""
        return (later.boot_s - self.boot_s) - (later.monotonic_s - self.monotonic_s)
