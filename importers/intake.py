"""What is read goes in: small units together, each streamed one by itself and whole or not at all.

Of every trial only what is written is held until then, so that what was made of it is gone while
it is still near.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from itertools import batched
from pathlib import Path

from ..models.classify import PASS_REWARD
from ..models.errors import SourceFault
from ..models.foreign import ForeignAttempt, ForeignTrial
from ..models.ledger.adopt import Adopted, Adoption
from ..models.ledger.foreign_told import ToldTrial
from ..models.source import ModeCount
from .reading import Account, Unit

AT_ONCE = 2_000  # trials between two writes
TOGETHER = 10_000  # trials of small units between two commits: each writes pages of indexes again

type Watch = Callable[[int, int], None]
"""Is told after every commit how many trials went in, and how many files could not be read."""


class Seen:
    """What went in."""

    def __init__(self) -> None:
        self.adopted = Adopted()
        self.trials = 0
        self.tasks: set[str] = set()
        self.entries: dict[str, None] = {}
        self.bands: dict[str, None] = {}
        self.runs: set[tuple[str, str]] = set()
        self._modes: Counter[tuple[str, str, str]] = Counter()

    def add(self, trials: Sequence[ForeignTrial]) -> None:
        """Count trials."""
        self.trials += len(trials)
        self.tasks.update([trial.task.name for trial in trials])
        for entry, band, run in dict.fromkeys([(t.entry.name, t.band.name, t.run) for t in trials]):
            self.entries[entry] = None
            self.bands[band] = None
            self.runs.add((entry, run))
        self._modes.update([_ending(attempt) for trial in trials for attempt in trial.attempts])

    def merge(self, other: "Seen") -> None:
        """Count what another counted."""
        self.adopted += other.adopted
        self.trials += other.trials
        self.tasks |= other.tasks
        self.entries |= other.entries
        self.bands |= other.bands
        self.runs |= other.runs
        self._modes += other._modes

    def modes(self) -> tuple[ModeCount, ...]:
        """Modes and what they were read as, the most frequent first."""
        met = self._modes
        counts = [
            ModeCount(
                mode=mode,
                judged=judged,
                attempts=sum(met[mode, judged, end] for end in ("", "passed", "unjudged")),
                passed=met[mode, judged, "passed"],
                unjudged=met[mode, judged, "unjudged"],
            )
            for mode, judged in dict.fromkeys((mode, judged) for mode, judged, _ in met)
        ]
        return tuple(sorted(counts, key=lambda one: -one.attempts))


def _ending(attempt: ForeignAttempt) -> tuple[str, str, str]:
    """An attempt's mode, what that was read as, and what its reward says."""
    reward, origin = attempt.evidence.get("reward"), attempt.origin
    graded = "unjudged" if reward is None else "passed" if reward >= PASS_REWARD else ""
    return origin.get("mode", ""), origin.get("judged", ""), graded


class Intake:
    """Takes units into a ledger; without an `adoption` it only counts them (a dry run)."""

    def __init__(self, adoption: Adoption | None, account: Account, watch: Watch) -> None:
        self._adoption, self._account, self._watch = adoption, account, watch
        self._waiting, self._told = Seen(), list[ToldTrial]()
        self.seen = Seen()
        self.places = set[Path]()  # where units were met

    def take(self, units: Iterable[Unit]) -> Seen:
        """Take all units in, and tell what went in.

        Raises:
            LedgerError: the experiment was run here, not imported.
        """
        for unit in units:
            self.places.add(unit.path)
            if unit.streamed:
                self._stream(unit)
            else:
                self._hold(unit)
        self._commit()
        return self.seen

    def _hold(self, unit: Unit) -> None:
        trials = list(unit.trials)
        self._waiting.add(trials)
        if self._adoption:
            self._told += self._adoption.told(trials)
        if self._waiting.trials >= TOGETHER:
            self._commit()

    def _commit(self) -> None:
        if not self._waiting.trials:
            return
        here, self._waiting = self._waiting, Seen()
        told, self._told = self._told, []
        if self._adoption:
            with self._adoption.transaction():
                for batch in batched(told, AT_ONCE):
                    here.adopted += self._adoption.take(batch)
        self._went_in(here)

    def _stream(self, unit: Unit) -> None:
        here = Seen()
        try:
            with self._adoption.transaction() if self._adoption else nullcontext():
                for batch in batched(unit.trials, AT_ONCE):
                    here.add(batch)
                    if self._adoption:
                        here.adopted += self._adoption.take(self._adoption.told(batch))
        except SourceFault as fault:
            self._account.faults.append(fault)
        else:
            self._went_in(here)

    def _went_in(self, here: Seen) -> None:
        self.seen.merge(here)
        self._watch(self.seen.trials, len(self._account.faults))
