"""Harbor: folders of jobs, as `harbor run` leaves them.

A job is a folder with `result.json`, `lock.json`, `config.json` and `job.log`, and one folder per
trial with a `result.json` of its own. A retry deletes its trial's folder; what is left of it is a
line in `job.log` and a number in the job's `result.json`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from ..models.errors import SourceFault
from ..models.foreign import ForeignTrial
from ..models.stamp import STAMP_FILE, Stamp
from .bounded import folders, read_bytes
from .fields import count, part, word
from .harbor_log import retried
from .harbor_said import Tally, lacking, totals
from .harbor_trial import Job, Told, harbor_trial
from .json_bounded import Object, read_object
from .labels import short
from .overlap import neighbours
from .reading import Account, Choices, Importer, Unit

RESULT, LOCK, CONFIG, LOG = "result.json", "lock.json", "config.json", "job.log"
DEEPEST = 4  # folders between the path that is given and a job
MOST_STAMP_BYTES = 1024 * 1024


def read_harbor(paths: Sequence[Path], choices: Choices, account: Account) -> Iterator[Unit]:
    """The trials of every job below some paths, one unit a job.

    A trial that cannot be read is a fault; the others of its job go in. A folder without a
    `result.json` is a trial that was cut off, or is still under way: it is counted, not taken.
    """
    seen = Tally()
    for path in paths:
        for folder, result in _jobs(path, account, DEEPEST):
            job = _job(folder, result, account)
            account.harnesses[job.harness] += 1
            told, cut_off = _trials(folder, account)
            trials = list(_mapped(told, job, choices, account))
            tally = Tally(cut_off=cut_off)
            for trial in trials:
                tally.add(trial)
            stated = totals(job.name, result, tally)
            tally.lost = max(0, int(stated[-1].theirs or 0) - tally.erased)
            account.totals += stated
            seen += tally
            yield Unit(folder, trials)
    lacking(account, seen)


def _jobs(path: Path, account: Account, depth: int) -> Iterator[tuple[Path, Object]]:
    """Folders of jobs at or below a path, each with its own result; {} where it left none."""
    folder = path.parent if path.name == RESULT else path
    if (folder / RESULT).is_file():
        result = _optional(folder / RESULT, account)
        # A trial's folder stands for itself: a job of one.
        yield folder, {} if "trial_name" in result else result
    elif (folder / LOCK).is_file() or (folder / LOG).is_file():
        yield folder, {}
    elif depth:
        for below in folders(folder, account.faults):
            yield from _jobs(below, account, depth - 1)


def _job(folder: Path, result: Object, account: Account) -> Job:
    lock, config = (_optional(folder / name, account) for name in (LOCK, CONFIG))
    try:
        version = word(part(folder / LOCK, "harbor", lock.get("harbor")).get("version"))
        erased = retried(folder / LOG)
    except SourceFault as fault:
        account.faults.append(fault)
        version, erased = "", {}
    slots = count(lock.get("n_concurrent_trials"))
    id_ = word(result.get("id"))
    return Job(
        name=short(f"{word(config.get('job_name')) or folder.resolve().name} {id_[:8]}".strip()),
        id=id_ or folder.resolve().name,
        harness=f"Harbor {version}" if version else "Harbor, version not recorded",
        n_concurrent=slots if slots is not None else count(config.get("n_concurrent_trials")),
        retried=erased,
    )


def _trials(folder: Path, account: Account) -> tuple[list[Told], int]:
    """The results of a job's trials, and how many folders hold none."""
    told: list[Told] = []
    cut_off = 0
    inside = [folder] if _is_trial(folder) else folders(folder, account.faults)
    for trial in inside:
        try:
            if (trial / RESULT).is_file():
                raw, digest = read_object(trial / RESULT)
                account.saw(digest)
                told.append(Told(trial / RESULT, raw, _stamp(trial / STAMP_FILE, account)))
            else:
                cut_off += (trial / CONFIG).is_file()
        except SourceFault as fault:
            account.faults.append(fault)
    return told, cut_off


def _mapped(
    told: Sequence[Told], job: Job, choices: Choices, account: Account
) -> Iterator[ForeignTrial]:
    spans = []
    for one in told:
        try:
            spans.append(one.span)
        except SourceFault:
            spans.append(None)  # the mapping below names what is wrong
    for one, around in zip(told, neighbours(spans), strict=True):
        try:
            yield harbor_trial(one, job, around, choices)
        except SourceFault as fault:
            account.faults.append(fault)


def _is_trial(folder: Path) -> bool:
    return (folder / RESULT).is_file() and (
        (folder / "trial.log").is_file() or not any(_holds_result(f) for f in folders(folder, []))
    )


def _holds_result(folder: Path) -> bool:
    return (folder / RESULT).is_file()


def _optional(path: Path, account: Account) -> Object:
    """A file that need not be there; {} where it is not, or is broken, which is a fault."""
    if not path.is_file():
        return {}
    try:
        raw, digest = read_object(path)
    except SourceFault as fault:
        account.faults.append(fault)
        return {}
    account.saw(digest)
    return raw


def _stamp(path: Path, account: Account) -> Stamp | None:
    if not path.is_file():
        return None
    try:
        stamp = Stamp.model_validate_json(read_bytes(path, MOST_STAMP_BYTES))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise SourceFault(path, ".".join(map(str, first["loc"])), first["msg"]) from error
    account.profiles[stamp.node] = stamp.profile
    return stamp


def knows_harbor(path: Path) -> bool:
    """The path is a job of Harbor, one of its trials, or a folder of jobs."""
    if not path.is_dir():
        return False
    return any(_looks_like_a_job(one) for one in (path, *folders(path, [])))


def _looks_like_a_job(folder: Path) -> bool:
    return (folder / CONFIG).is_file() and (
        (folder / LOG).is_file() or (folder / LOCK).is_file() or (folder / RESULT).is_file()
    )


HARBOR = Importer("harbor", read_harbor, ("concurrency",), knows_harbor)
