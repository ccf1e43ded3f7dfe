"""Terminal-Bench: trees of `results.json` and `run_metadata.json`, as in the public leaderboard.

    <dataset>@<version>/<entry>/<run>/results.json              all trials of a run
                                     /run_metadata.json         concurrency, versions, dates
                                     /<task>/<trial>/results.json   one trial, a copy of the above

Entries of several attempts per task have the run's files in the entry's own folder. Copies of a
trial, also those in a run that was left inside another, are met once: a trial is known by its id.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..models.errors import SourceFault
from ..models.foreign import Facts, ForeignTrial
from .bounded import folders
from .json_bounded import Object, read_object
from .overlap import Span, neighbours
from .reading import Account, Choices, Importer, Unit
from .tb_run import LOCK, METADATA, Run, run_of
from .tb_said import Tally, lacking, totals
from .tb_tree import RESULTS, Folder, runs_in
from .tb_trial import Told, clocks_of, trial_of


def read_terminal_bench(
    paths: Sequence[Path], choices: Choices, account: Account
) -> Iterator[Unit]:
    """The trials of every run below some paths, one unit a run.

    A trial that cannot be read is a fault; the others of its run go in.
    """
    seen, met = Tally(), set[str]()
    for path in paths:
        for folder in runs_in(path, account):
            run = _run(folder, choices, account)
            account.harnesses[run.harness] += 1
            told = [*folder.told.values(), *folder.alone]
            trials = list(_mapped(told, run, choices, account))
            here = Tally.of(trials, resumed=run.resumed)
            account.totals += totals(run, folder.raw, here)
            new = [trial for trial in trials if trial.identity not in met]
            seen += here if len(new) == len(trials) else Tally.of(new, resumed=run.resumed)
            met.update([trial.identity for trial in new])
            yield Unit(folder.path, trials)
    lacking(account, seen)


def _mapped(
    told: Sequence[Told], run: Run, choices: Choices, account: Account
) -> Iterator[ForeignTrial]:
    clocked: list[tuple[Told, Facts]] = []
    for one in told:
        try:
            clocked.append((one, clocks_of(one)))
        except SourceFault as fault:
            account.faults.append(fault)
    spans = [_span(clocks) for _, clocks in clocked]
    for (one, clocks), around in zip(clocked, neighbours(spans), strict=True):
        try:
            yield trial_of(one, clocks, run, around, choices)
        except SourceFault as fault:
            account.faults.append(fault)


def _span(clocks: Facts) -> Span:
    start, end = clocks["received_at"], clocks["ended_at"]
    return None if start is None or end is None else (start, end)


def _run(folder: Folder, choices: Choices, account: Account) -> Run:
    """The run in a folder; metadata that hold what cannot be are a fault, and count for nothing."""
    try:
        metadata, lock = (_optional(folder.path / name, account) for name in (METADATA, LOCK))
        return run_of(folder.path, folder.where, metadata, lock, choices.entry)
    except SourceFault as fault:
        account.faults.append(fault)
        return run_of(folder.path, folder.where, {}, {}, choices.entry)


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
