"""Terminal-Bench: trees of `results.json` and `run_metadata.json`, as in the public leaderboard.

    <dataset>@<version>/<entry>/<run>/results.json              all trials of a run
                                     /run_metadata.json         concurrency, versions, dates
                                     /<task>/<trial>/results.json   one trial, a copy of the above

Entries of several attempts per task have the run's files in the entry's own folder. Copies of a
trial, also those in a run that was left inside another, are met once: a trial is known by its id.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..models.conditions import Clocks
from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from .bounded import folders, read_bytes
from .fields import items, part
from .json_bounded import Object, parse_object, read_object
from .overlap import Span, neighbours
from .reading import Account, Choices, Importer, Unit
from .tb_run import LOCK, METADATA, Run, run_of
from .tb_said import Tally, lacking, totals
from .tb_trial import Told, clocks_of, identity_of, trial_of

RESULTS = "results.json"
DEEPEST = 8  # folders between the path that is given and a trial


@dataclass(slots=True)
class _Folder:
    """A run's folder, its own results, the trials that it tells, by id, those that only a file of
    their own does, and the names of its tasks."""

    path: Path
    raw: Object
    told: dict[str, Told] = field(default_factory=dict)
    alone: list[Told] = field(default_factory=list)
    tasks: set[object] = field(default_factory=set)


def read_terminal_bench(
    paths: Sequence[Path], choices: Choices, account: Account
) -> Iterator[Unit]:
    """The trials of every run below some paths, one unit a run.

    A trial that cannot be read is a fault; the others of its run go in.
    """
    seen, met = Tally(), set[str]()
    for path in paths:
        for folder in _runs(path, account):
            run = _run(folder.path, choices, account)
            account.harnesses[run.harness] += 1
            told = [*folder.told.values(), *folder.alone]
            trials = list(_mapped(told, run, choices, account))
            account.totals += totals(run, folder.raw, Tally.of(trials))
            seen += Tally.of((t for t in trials if t.identity not in met), resumed=run.resumed)
            met.update(trial.identity for trial in trials)
            yield Unit(folder.path, trials)
    lacking(account, seen)


def _mapped(
    told: Sequence[Told], run: Run, choices: Choices, account: Account
) -> Iterator[ForeignTrial]:
    clocked: list[tuple[Told, Clocks]] = []
    for one in told:
        try:
            clocked.append((one, clocks_of(*one)))
        except SourceFault as fault:
            account.faults.append(fault)
    spans = [_span(clocks) for _, clocks in clocked]
    for (one, clocks), around in zip(clocked, neighbours(spans), strict=True):
        try:
            yield trial_of(one, clocks, run, around, choices)
        except SourceFault as fault:
            account.faults.append(fault)


def _span(clocks: Clocks) -> Span:
    start, end = clocks.received_at, clocks.ended_at
    return None if start is None or end is None else (start, end)


def _run(folder: Path, choices: Choices, account: Account) -> Run:
    """The run in a folder; metadata that hold what cannot be are a fault, and count for nothing."""
    try:
        metadata, lock = (_optional(folder / name, account) for name in (METADATA, LOCK))
        return run_of(folder, metadata, lock, choices.entry)
    except SourceFault as fault:
        account.faults.append(fault)
        return run_of(folder, {}, {}, choices.entry)


def _optional(path: Path, account: Account) -> Object:
    """A file of a run; {} where there is none, or it is broken, which is a fault."""
    if not path.is_file():
        return {}
    try:
        raw, digest = read_object(path)
    except SourceFault as fault:
        account.faults.append(fault)
        return {}
    account.saw(digest)
    return raw


def _runs(path: Path, account: Account) -> Iterator[_Folder]:
    """Folders with a run's results at or below a path; a run inside another comes by itself."""
    folder = path.parent if path.name == RESULTS else path
    nobodys = _Folder(folder, {})
    yield from _walk(str(folder), account, DEEPEST, nobodys)
    if nobodys.alone:  # trials whose run's own results are not there
        yield nobodys


def _walk(
    folder: str, account: Account, depth: int, run: _Folder, *, task: bool = False
) -> Iterator[_Folder]:
    """Runs below a folder; what single trials' files tell goes to the nearest `run` above them.
    The folder of a `task` of that run holds folders of trials and nothing else."""
    mine = None
    if not task and (content := _results(folder, account)) is not None:
        path = f"{folder}/{RESULTS}"
        try:
            raw = parse_object(path, content)
            if "task_id" in raw:
                _compare(Told(path, "", raw), content, run, account)
                return  # what lies deeper is the trial's
            account.saw(hashlib.sha256(content).digest())
            if "results" in raw:
                run = mine = _Folder(Path(folder), raw)
                _hold(run, path, account)
        except SourceFault as fault:
            account.faults.append(fault)
    for name in _below(folder, account) if depth else ():
        named = mine is not None and name in mine.tasks
        yield from _walk(f"{folder}/{name}", account, depth - 1, run, task=named)
    if mine is not None:
        yield mine


def _results(folder: str, account: Account) -> bytes | None:
    """What a folder's `results.json` holds; None where there is none. Not listing the folder first
    halves the cost of a tree of single trials."""
    try:
        return read_bytes(f"{folder}/{RESULTS}")
    except SourceFault as fault:
        if not isinstance(fault.__cause__, FileNotFoundError):
            account.faults.append(fault)
        return None


def _below(folder: str, account: Account) -> list[str]:
    """The names of the folders in a folder, in order; links are left out."""
    try:
        with os.scandir(folder) as found:
            return sorted(one.name for one in found if one.is_dir(follow_symlinks=False))
    except OSError as error:
        problem = f"cannot be listed: {error.strerror or error}"
        account.faults.append(SourceFault(folder, "", problem))
        return []


def _hold(run: _Folder, path: str, account: Account) -> None:
    """Take the trials that a run's own file tells."""
    for place, raw in enumerate(items(path, "results", run.raw.get("results"))):
        where = f"results[{place}]"
        try:
            told = Told(path, where, part(path, where, raw))
            run.tasks.add(str(told.raw.get("task_id")))
            if run.told.setdefault(identity_of(*told), told) is not told:
                run.alone.append(told)  # one id twice: the ledger tells whether they agree
        except SourceFault as fault:
            account.faults.append(fault)


def _compare(single: Told, content: bytes, run: _Folder, account: Account) -> None:
    """A trial's own file: a copy of what its run tells, or all there is of it.

    Raises:
        SourceFault: its run tells it otherwise.
    """
    known = run.told.get(identity_of(*single))
    if known is None:
        account.saw(hashlib.sha256(content).digest())
        run.alone.append(single)
    elif known.raw != single.raw:
        keys = [key for key in single.raw if single.raw.get(key) != known.raw.get(key)]
        told_by = f"differs from {known.path} in {', '.join(keys[:5])}; the run's file counts"
        raise SourceFault(single.path, "", told_by)


def knows_terminal_bench(path: Path) -> bool:
    """The path holds results of Terminal-Bench at most three folders down."""
    return path.is_dir() and _holds_run(path, 3)


def _holds_run(folder: Path, depth: int) -> bool:
    if (folder / RESULTS).is_file():
        return True
    return depth > 0 and any(_holds_run(below, depth - 1) for below in folders(folder, []))


TERMINAL_BENCH = Importer(
    "terminal-bench", read_terminal_bench, ("concurrency",), knows_terminal_bench
)
