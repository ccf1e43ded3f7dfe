"""SWE-bench: the report that each evaluation run leaves, with its lists of instance ids.

A report is `<model>.<run id>.json`, with `/` in the model's name written `__`. An instance is a
task; one run tries each instance once.

Source: SWE-bench 2 to 4, `swebench.harness.reporting`, schema version 2.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..models.band import Band
from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.errors import SourceFault
from ..models.evidence import PhaseName
from ..models.foreign import ForeignAttempt, ForeignTrial, told_origin
from ..models.source import Total
from .bounded import files, folders
from .ending import Ending, evidence_of
from .fields import count, items
from .json_bounded import Object, read_object
from .labels import label, short
from .reading import Account, Choices, Importer, Unit
from .untold import NO_CLOCKS, NO_CONDITIONS, NO_USAGE, named_task

LISTS = {  # a list of the report, and the mode of the instances in it
    "resolved_ids": "resolved",
    "unresolved_ids": "unresolved",
    "error_ids": "error",
    "empty_patch_ids": "empty_patch",
    "incomplete_ids": "incomplete",
}
NEEDED = ("resolved_ids", "unresolved_ids")
GRADES = {"resolved": 1.0, "unresolved": 0.0, "empty_patch": 0.0}
NO_BAND = Band(name=UNRECORDED, stated=False)
DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Report:
    """One run's report: whose it is, and the mode of every instance."""

    path: Path
    entry: Entry
    run: str
    modes: Mapping[str, str]
    raw: Object


def read_swe_bench(paths: Sequence[Path], choices: Choices, account: Account) -> Iterator[Unit]:
    """The instances of every report at or below some paths, one unit a report."""
    seen: dict[str, int] = dict.fromkeys(LISTS.values(), 0)
    for path in paths:
        for found in _reports(path, account.faults):
            try:
                raw, digest = read_object(found)
                if not path.is_file() and not _is_report(raw):
                    continue
                report = report_of(found, raw, choices)
            except SourceFault as fault:
                account.faults.append(fault)
                continue
            account.saw(digest)
            account.harnesses["SWE-bench, version not recorded"] += 1
            account.totals += totals(report)
            for mode in report.modes.values():
                seen[mode] += 1
            yield Unit(found, [trial_of(report, name, choices) for name in report.modes])
    _lacking(account, seen)


def report_of(path: Path, raw: Object, choices: Choices) -> Report:
    """The report in a file.

    Raises:
        SourceFault: it lacks the lists, or an instance stands in two of them.
    """
    if missing := [name for name in NEEDED if name not in raw]:
        raise SourceFault(path, missing[0], "this list is missing; is it a report of SWE-bench?")
    modes: dict[str, str] = {}
    for name, mode in LISTS.items():
        for place, one in enumerate(items(path, name, raw.get(name))):
            instance = label(path, f"{name}[{place}]", one)
            if modes.setdefault(instance, mode) != mode:
                raise SourceFault(
                    path, f"{name}[{place}]",
                    f"{instance} is listed as {modes[instance]} and as {mode}",
                )  # fmt: skip
    model, _, run = path.stem.rpartition(".")
    model, run = (model or run).replace("__", "/"), run if model else path.parent.name
    name = short(choices.entry or model, 120)
    entry = Entry(agent=f"swe-bench:{short(model, 120)}", model=UNRECORDED, name=name)
    return Report(path, entry, short(run), modes, raw)


def trial_of(report: Report, instance: str, choices: Choices) -> ForeignTrial:
    """One instance of a report; without an attempt where no prediction was submitted for it."""
    mode = report.modes[instance]
    judged = choices.modes.word(mode)
    id_ = f"{report.entry.name}/{report.run}/{instance}"
    walls: dict[PhaseName, float | None] = {"verifier": None} if mode in GRADES else {}
    ending = Ending(
        judged, mode, reward=GRADES.get(mode), walls=walls, settled=choices.modes.settles(mode)
    )
    attempt = ForeignAttempt(
        evidence=evidence_of(ending),
        conditions=NO_CONDITIONS,
        usage=NO_USAGE,
        clocks=NO_CLOCKS,
        origin=told_origin(kind="swe-bench", id=id_, run=report.run, mode=mode, judged=judged),
    )
    return ForeignTrial(
        identity=f"swe-bench/{id_}",
        task=named_task(instance),
        entry=report.entry,
        band=choices.band or NO_BAND,
        levels=(),
        run=report.run,
        attempts=() if mode == "incomplete" else (attempt,),
    )


def totals(report: Report) -> list[Total]:
    """The report's own totals beside ours."""
    where = f"{report.entry.name}, {report.run}"
    modes = list(report.modes.values())
    submitted = len(modes) - modes.count("incomplete")
    found = {f"{mode}_instances": modes.count(mode) for mode in LISTS.values()}
    found = {"submitted_instances": submitted} | found | {"total_instances": len(modes)}
    return [
        Total(what=f"{where}: {name.replace('_', ' ')}", theirs=theirs, ours=ours)
        for name, ours in found.items()
        if (theirs := count(report.raw.get(name))) is not None
    ]


def knows_swe_bench(path: Path) -> bool:
    """The path is a report, or a folder with one."""
    for found in _reports(path, [], 1):
        try:
            if _is_report(read_object(found)[0]):
                return True
        except SourceFault:
            continue
    return False


def _is_report(raw: Object) -> bool:
    return all(name in raw for name in NEEDED)


def _reports(path: Path, faults: list[SourceFault], depth: int = DEEPEST) -> Iterator[Path]:
    """The JSON files at or below a path."""
    if path.is_file():
        yield path
        return
    yield from (file for file in files(path, faults) if file.suffix == ".json")
    for below in folders(path, faults) if depth else ():
        yield from _reports(below, faults, depth - 1)


def _lacking(account: Account, seen: Mapping[str, int]) -> None:
    account.lacks(
        "what an error was",
        "an image that could not be built and a patch that does not apply stand in one list; both "
        "are read as a verifier's error",
        seen["error"],
    )
    account.lacks(
        "why a patch is empty",
        "some harnesses turn a pod that failed to start into an empty patch; all are read as no "
        "answer",
        seen["empty_patch"],
    )
    account.lacks(
        "instances without a prediction",
        "they are planned and have no outcome; SWE-bench counts them as failures",
        seen["incomplete"],
    )
    account.lacks(
        "OOM kills",
        "no kill counter is recorded: any of these unresolved instances may have been killed for "
        "memory",
        seen["unresolved"],
    )
    account.lacks("everything else", "no clocks, retries, limits, nodes, versions are recorded")


SWE_BENCH = Importer("swe-bench", read_swe_bench, (), knows_swe_bench)
