"""Terminal-Bench: trees of `results.json` and `run_metadata.json`, as in the public leaderboard.

    <dataset>@<version>/<entry>/<run>/results.json              all trials of a run
                                     /run_metadata.json         concurrency, versions, dates
                                     /<task>/<trial>/results.json   one trial, a copy of the above

Entries of several attempts per task have the run's files in the entry's own folder. Copies of a
trial, also those in a run that was left inside another, are met once: a trial is known by its id.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from .bounded import Object, folders, read_object
from .fields import items, part
from .overlap import Span, neighbours
from .reading import Account, Choices, Importer, Unit
from .tb_run import Run, run_of
from .tb_said import Tally, lacking, totals
from .tb_trial import identity_of, span_of, trial_of

RESULTS, METADATA = "results.json", "run_metadata.json"
DEEPEST = 8  # folders between the path that is given and a trial


class _Told(NamedTuple):
    """A trial as some file tells it, and where in the file."""

    path: Path
    place: str
    raw: Object


class _Folder(NamedTuple):
    """A run's folder, its own results, and the files of single trials below it."""

    path: Path
    raw: Object
    singles: list[Path]


def read_terminal_bench(
    paths: Sequence[Path], choices: Choices, account: Account
) -> Iterator[Unit]:
    """The trials of every run below some paths, one unit a run.

    A trial that cannot be read is a fault; the others of its run go in.
    """
    seen, met = Tally(), set[str]()
    for path in paths:
        for folder in _runs(path, account):
            run = run_of(folder.path, _metadata(folder.path, account), choices.entry)
            account.harnesses[run.harness] += 1
            told = list(_told(folder, account))
            trials = list(_mapped(told, run, choices, account))
            account.totals += totals(run, folder.raw, Tally.of(trials))
            seen += Tally.of(trial for trial in trials if trial.identity not in met)
            met.update(trial.identity for trial in trials)
            yield Unit(folder.path, trials)
    lacking(account, seen)


def _told(folder: _Folder, account: Account) -> Iterator[_Told]:
    """The trials that a run's own file holds, then those that only a file of their own does."""
    path = folder.path / RESULTS
    held: dict[str, Object] = {}
    for place, raw in enumerate(items(path, "results", folder.raw.get("results"))):
        try:
            told = _Told(path, f"results[{place}]", part(path, f"results[{place}]", raw))
            held[identity_of(*told)] = told.raw
            yield told
        except SourceFault as fault:
            account.faults.append(fault)
    for single in folder.singles:
        try:
            raw, digest = read_object(single)
            account.saw(digest)
            known = held.get(identity_of(single, "", raw))
            if known is None:
                yield _Told(single, "", raw)
            elif known != raw:
                keys = [key for key in raw if raw.get(key) != known.get(key)]
                told_by = f"differs from {path} in {', '.join(keys[:5])}; the run's file counts"
                raise SourceFault(single, "", told_by)
        except SourceFault as fault:
            account.faults.append(fault)


def _mapped(
    told: Sequence[_Told], run: Run, choices: Choices, account: Account
) -> Iterator[ForeignTrial]:
    spans = [_span(one) for one in told]
    for one, around in zip(told, neighbours(spans), strict=True):
        try:
            yield trial_of(*one, run, around, choices)
        except SourceFault as fault:
            account.faults.append(fault)


def _span(told: _Told) -> Span:
    try:
        return span_of(*told)
    except SourceFault:
        return None  # the mapping names what is wrong


def _metadata(folder: Path, account: Account) -> Object:
    """The run's metadata; {} where there are none, or they are broken, which is a fault."""
    path = folder / METADATA
    if not path.is_file():
        return {}
    try:
        raw, digest = read_object(path)
    except SourceFault as fault:
        account.faults.append(fault)
        return {}
    account.saw(digest)
    return raw


def _runs(path: Path, account: Account, depth: int = DEEPEST) -> Iterator[_Folder]:
    """Folders with a run's results at or below a path; a run inside another comes by itself."""
    folder = path.parent if path.name == RESULTS else path
    singles: list[Path] = []
    yield from _walk(folder, account, depth, singles)
    if singles:  # trials whose run's own results are not there
        yield _Folder(folder, {}, singles)


def _walk(folder: Path, account: Account, depth: int, singles: list[Path]) -> Iterator[_Folder]:
    """Runs below a folder; files of single trials are put to `singles`, the nearest run's."""
    results = folder / RESULTS
    raw: Object = {}
    if results.is_file():
        try:
            raw, digest = read_object(results)
        except SourceFault as fault:
            account.faults.append(fault)
        else:
            account.saw(digest)
    if "task_id" in raw:
        singles.append(results)  # read again by its run: holding all of them would hold the tree
        return
    mine = [] if "results" in raw else singles
    if depth:
        for below in folders(folder):
            yield from _walk(below, account, depth - 1, mine)
    if "results" in raw:
        yield _Folder(folder, raw, mine)


def knows_terminal_bench(path: Path) -> bool:
    """The path holds results of Terminal-Bench at most three folders down."""
    return path.is_dir() and _holds_run(path, 3)


def _holds_run(folder: Path, depth: int) -> bool:
    if (folder / RESULTS).is_file():
        return True
    return depth > 0 and any(_holds_run(below, depth - 1) for below in folders(folder))


TERMINAL_BENCH = Importer(
    "terminal-bench", read_terminal_bench, ("concurrency",), knows_terminal_bench
)
