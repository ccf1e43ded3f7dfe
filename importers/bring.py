"""Bring others' results into a ledger: what can be read goes in, the rest is named."""

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..models.errors import SourceFault
from ..models.ledger.adopt import Adopted, Adoption
from ..models.node import NodeProfile
from ..models.source import Source, Unrecorded
from .intake import Intake, Seen, Watch
from .kinds import looks_like
from .labels import short
from .modes_builtin import VERSION
from .reading import Account, Choices, Importer

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
    account = Account()
    with _no_collections():
        intake = Intake(adoption, account, watch)
        seen = intake.take(importer.read(paths, choices, account))
    if not seen.trials and not account.faults:
        raise _barren(importer, paths)
    met = {*intake.places, *(Path(fault.path) for fault in account.faults)}
    barren = [path for path in paths if not any(_within(path, place) for place in met)]
    account.faults += [_barren(importer, [path]) for path in barren]
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


def _barren(importer: Importer, paths: Sequence[Path]) -> SourceFault:
    """Nothing of the kind lies there; what does, by its look."""
    guess = looks_like(paths[0])
    hint = f"; it looks like {guess}" if guess not in ("", importer.kind) else ""
    return SourceFault(_named(paths), "", f"holds no results of the kind {importer.kind!r}{hint}")


def _within(path: Path, place: Path) -> bool:
    """A place is a path or lies below it; of a file it may be the folder that the file is in."""
    return place.is_relative_to(path) or (path.is_file() and place == path.parent)


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


def _source(
    importer: Importer, paths: Sequence[Path], choices: Choices, account: Account, seen: Seen
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
        modes=seen.modes(),
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
