"""Cells, trials and attempts: what is to be run, by key."""

import hashlib

from .value import Value


class CellKey(Value):
    """Task x entry x band x the levels of the other assigned factors.

    `levels` holds (factor, level) pairs in the order of the factors' names.
    """

    task: str
    entry: str
    band: str
    levels: tuple[tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        """The key as one line, e.g. `headroom/mosaic|lean|1x|concurrency=8`."""
        return "|".join((self.task, self.entry, self.band, *(f"{k}={v}" for k, v in self.levels)))


class TrialKey(Value):
    """One sample of one cell: the unit that gets one outcome."""

    cell: CellKey
    sample: int

    @property
    def concurrency(self) -> int | None:
        """Trials in flight per node that its wave asks for; None: the node's own number."""
        return next((int(n) for name, n in self.cell.levels if name == "concurrency"), None)

    @property
    def text(self) -> str:
        """The key as one line, e.g. `headroom/mosaic|lean|1x|#3`."""
        return f"{self.cell.text}|#{self.sample}"


def trial_id(experiment: str, key: TrialKey) -> str:
    """The id of a trial: 16 hex digits that depend on its experiment and key alone.

    >>> trial_id("demo", TrialKey(cell=CellKey(task="t", entry="lean", band="1x"), sample=0))
    'd92f0ce572a96ada'
    """
    return hashlib.sha256(f"{experiment}\x00{key.text}".encode()).hexdigest()[:16]


def attempt_id(trial: str, number: int) -> str:
    """The id of a trial's n-th attempt (from 1), fit for a pod's name and a Celery task id."""
    return f"{trial}.{number}"
