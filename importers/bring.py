"""Bring others' results into a ledger: what can be read goes in, the rest is named."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import batched
from pathlib import Path

from ..models.classify import PASS_REWARD
from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from ..models.ledger.adopt import Adopted, Adoption
from ..models.node import NodeProfile
from ..models.source import ModeCount, Source, Unrecorded
from .labels import short
from .modes_builtin import VERSION
from .reading import Account, Choices, Importer, Unit

AT_ONCE = 2_000  # trials: between two writes, and between two commits of small files
CUT_OFF = "its import was cut off; the same import again goes on, and tells what else is missing"
MOST_FAULTS = 200  # named in the ledger; all of them are told to the caller


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import did. `trials` were read; `adopted` says what became of them in the ledger."""

    source: Source
    adopted: Adopted
    trials: int
    tasks: int
    entries: tuple[str, ...]
    bands: tuple[str, ...]
    runs: int
    faults: tuple[SourceFault, ...]
    profiles: dict[str, NodeProfile]


type Watch = Callable[[int, int], None]
"""Is told after every commit how many trials went in, and how many files could not be read."""


def bring(
    importer: Importer,
    paths: Sequence[Path],
    choices: Choices,
    adoption: Adoption | None,
    watch: Watch = lambda trials, faults: None,
) -> Brought:
    """Read every path and take its trials in; without an `adoption` only look (a dry run).

    Small files are read whole before anything of them is taken; of a large one that turns out to
    be broken, what was taken is taken back.

    Raises:
        SourceFault: a path does not exist, or nothing in any of them could be read.
        LedgerError: the experiment was run here, not imported.
    """
    for path in paths:
        if not path.exists():
            raise SourceFault(path, "", "no such file or folder")
    account, seen = Account(), _Seen()
    with _no_collections():
        for some in _grouped(importer.read(paths, choices, account)):
            _take(some, adoption, account, seen)
            watch(seen.trials, len(account.faults))
    if not seen.trials and not account.faults:
        raise SourceFault(_named(paths), "", f"holds no results of the kind {importer.kind!r}")
    return Brought(
        source=_source(importer, paths, choices, account, seen),
        adopted=seen.adopted,
        trials=seen.trials,
        tasks=len(seen.tasks),
        entries=tuple(seen.entries),
        bands=tuple(seen.bands),
        runs=len(seen.runs),
        faults=tuple(account.faults),
        profiles=account.profiles,
    )


def unfinished(importer: Importer, paths: Sequence[Path], choices: Choices) -> Source:
    """What is known of a source whose import has not come to its end."""
    return Source(
        kind=importer.kind,
        path=_named(paths),
        content_hash="",
        harness="not recorded",
        files=0,
        trials=0,
        modes_version=VERSION,
        overrides=choices.modes.overrides,
        unrecorded=(Unrecorded(what="the rest of it", why=CUT_OFF),),
    )


class _Seen:
    """What went in."""

    def __init__(self) -> None:
        self.adopted = Adopted()
        self.trials = 0
        self.tasks: set[str] = set()
        self.entries: dict[str, None] = {}
        self.bands: dict[str, None] = {}
        self.runs: set[tuple[str, str]] = set()
        self.modes: Counter[tuple[str, str, str]] = Counter()

    def add(self, trials: Iterable[ForeignTrial]) -> None:
        for trial in trials:
            self.trials += 1
            self.tasks.add(trial.task.name)
            self.entries[trial.entry.name] = None
            self.bands[trial.band.name] = None
            self.runs.add((trial.entry.name, trial.run))
            for attempt in trial.attempts:
                origin, reward = attempt.origin, attempt.evidence.reward
                end = "unjudged" if reward is None else "passed" if reward >= PASS_REWARD else ""
                self.modes[origin.mode, origin.judged, end] += 1

    def merge(self, other: "_Seen") -> None:
        self.adopted += other.adopted
        self.trials += other.trials
        self.tasks |= other.tasks
        self.entries |= other.entries
        self.bands |= other.bands
        self.runs |= other.runs
        self.modes += other.modes


def _grouped(units: Iterable[Unit]) -> Iterator[Iterable[ForeignTrial] | Unit]:
    """Small units together, up to a commit's worth; each streamed one by itself."""
    pending: list[ForeignTrial] = []
    for unit in units:
        if unit.streamed:
            yield unit
            continue
        pending += unit.trials
        if len(pending) >= AT_ONCE:
            yield pending
            pending = []
    if pending:
        yield pending


def _take(
    some: Iterable[ForeignTrial] | Unit, adoption: Adoption | None, account: Account, seen: _Seen
) -> None:
    trials = some.trials if isinstance(some, Unit) else some
    here = _Seen()
    try:
        with adoption.transaction() if adoption else nullcontext():
            for batch in batched(trials, AT_ONCE):
                here.add(batch)
                if adoption:
                    here.adopted += adoption.take(batch)
    except SourceFault as fault:
        account.faults.append(fault)
        return
    seen.merge(here)


def _source(
    importer: Importer, paths: Sequence[Path], choices: Choices, account: Account, seen: _Seen
) -> Source:
    return Source(
        kind=importer.kind,
        path=_named(paths),
        content_hash=account.content_hash(),
        harness=short(", ".join(sorted(account.harnesses)) or "not recorded"),
        files=account.files,
        trials=seen.trials,
        copies=seen.adopted.known,
        modes_version=VERSION,
        overrides=choices.modes.overrides,
        modes=_modes(seen.modes),
        unrecorded=tuple(account.unrecorded),
        totals=tuple(account.totals),
        faults=tuple(
            short(fault) for fault in (*account.faults, *_conflicts(seen.adopted))[:MOST_FAULTS]
        ),
    )


def _conflicts(adopted: Adopted) -> Iterator[str]:
    return (f"{one}: came again with other contents; the first counts" for one in adopted.conflicts)


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))


def _modes(met: Counter[tuple[str, str, str]]) -> tuple[ModeCount, ...]:
    """Modes and what they were read as, the most frequent first."""
    words = dict.fromkeys((mode, judged) for mode, judged, _ in met)
    counts = [
        ModeCount(
            mode=mode,
            judged=judged,
            attempts=sum(met[mode, judged, end] for end in ("", "passed", "unjudged")),
            passed=met[mode, judged, "passed"],
            unjudged=met[mode, judged, "unjudged"],
        )
        for mode, judged in words
    ]
    return tuple(sorted(counts, key=lambda one: -one.attempts))


@contextmanager
def _no_collections() -> Iterator[None]:
    """Without garbage collection: what is made here has no cycles, and each collection would walk
    all of it, which costs more than reading and writing together."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
