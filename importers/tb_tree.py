"""Runs of Terminal-Bench in a tree of folders, each with all that tells of its trials."""

import hashlib
import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..models.errors import SourceFault
from .bounded import read_bytes
from .fields import items, word
from .json_bounded import Object, parse_object
from .reading import Account
from .tb_trial import Told, told_in

RESULTS = "results.json"
DEEPEST = 8  # folders between the path that is given and a trial


def _names() -> defaultdict[str, list[str]]:
    return defaultdict(list)


@dataclass(slots=True)
class Folder:
    """A run's folder, its own results, the trials that it tells, by id, those that only a file of
    their own does, and the names of its trials by task. `where` is its path without links."""

    path: Path
    raw: Object
    where: Path = Path()
    told: dict[str, Told] = field(default_factory=dict)
    alone: list[Told] = field(default_factory=list)
    trials: defaultdict[str, list[str]] = field(default_factory=_names)


def runs_in(path: Path, account: Account) -> Iterator[Folder]:
    """Folders with a run's results at or below a path; a run inside another comes by itself."""
    folder = path.parent if path.name == RESULTS else path
    real, nobodys = folder.resolve(), Folder(folder, {})
    for run in _walk(str(folder), account, DEEPEST, nobodys):
        run.where = real / run.path.relative_to(folder)
        yield run
    if nobodys.alone:  # trials whose run's own results are not there
        nobodys.where = real
        yield nobodys


def _walk(folder: str, account: Account, depth: int, run: Folder) -> Iterator[Folder]:
    """Runs below a folder; what single trials' files tell goes to the nearest `run` above them."""
    mine = None
    if (content := _results(folder, account)) is not None:
        path = f"{folder}/{RESULTS}"
        try:
            raw = parse_object(path, content)
            if "task_id" in raw:
                _compare(told_in(path, "", raw), content, run, account)
                return  # what lies deeper is the trial's
            account.saw(hashlib.sha256(content).digest())
            if "results" in raw:
                run = mine = Folder(Path(folder), raw)
                _hold(run, path, account)
        except SourceFault as fault:
            account.faults.append(fault)
    for name in _below(folder, account) if depth else ():
        below = f"{folder}/{name}"
        if mine is not None and name in mine.trials:
            for trial in _trials(below, mine.trials[name], account) if depth > 1 else ():
                yield from _walk(f"{below}/{trial}", account, depth - 2, run)
        else:
            yield from _walk(below, account, depth - 1, run)
    if mine is not None:
        yield mine


def _trials(task: str, told: list[str], account: Account) -> list[str]:
    """The names of the folders in a task's folder, which holds nothing but trials."""
    return sorted(told) if _has_but(task, told) else _below(task, account)


def _has_but(folder: str, names: list[str]) -> bool:
    """A folder is known to hold folders of these names and no other. A folder of most file systems
    counts the folders in it: to ask for them costs less than to list it."""
    try:
        if not os.lstat(folder).st_nlink == 2 + len(names) == 2 + len(set(names)):
            return False
        return all([_is_folder(folder, name) for name in names])
    except (OSError, ValueError):  # not there; a name that none can be
        return False


def _is_folder(folder: str, name: str) -> bool:
    """A folder of that name lies in a folder, and is no link to one."""
    plain = "/" not in name and name not in ("", ".", "..")
    return plain and stat.S_ISDIR(os.lstat(f"{folder}/{name}").st_mode)


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


def _hold(run: Folder, path: str, account: Account) -> None:
    """Take the trials that a run's own file tells."""
    for place, raw in enumerate(items(path, "results", run.raw.get("results"))):
        try:
            told = told_in(path, f"results[{place}]", raw)
        except SourceFault as fault:
            account.faults.append(fault)
            continue
        run.trials[word(raw.get("task_id"))].append(word(raw.get("trial_name")))
        if run.told.setdefault(told.id, told) is not told:
            run.alone.append(told)  # one id twice: the ledger tells whether they agree


def _compare(single: Told, content: bytes, run: Folder, account: Account) -> None:
    """A trial's own file: a copy of what its run tells, or all there is of it.

    Raises:
        SourceFault: its run tells it otherwise.
    """
    known = run.told.get(single.id)
    if known is None:
        account.saw(hashlib.sha256(content).digest())
        run.alone.append(single)
    elif known.raw != single.raw:
        keys = [key for key in single.raw if single.raw.get(key) != known.raw.get(key)]
        told_by = f"differs from {known.path} in {', '.join(keys[:5])}; the run's file counts"
        raise SourceFault(single.path, "", told_by)
