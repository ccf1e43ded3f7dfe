"""`import`: others' results into a ledger, and what they do not record."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from rich.console import Console
from sqlalchemy import Engine

from ..analysis.words import counted
from ..importers.bring import Brought, bring, unfinished
from ..importers.intake import Watch
from ..importers.kinds import detected, importer
from ..importers.labels import band_label
from ..importers.modes import Modes, rules_in
from ..importers.modes_builtin import BUILT_IN
from ..importers.reading import Choices, Importer
from ..importers.table_columns import TableColumns
from ..models.band import SHORTHAND, Band
from ..models.errors import DesignError, SourceFault
from ..models.ledger.adopt import Adoption
from ..models.ledger.nodes import write_node
from ..models.ledger.sources import write_source
from ..models.ledger.store import open_store
from ..models.slug import slug
from ..models.source import Kind
from .folder import LEDGER, RUNS, remove_ledger
from .imported_text import imported_json, imported_text
from .stopping import INTERRUPTED

FAULTS = 6


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for; see the command."""

    kind: str
    paths: tuple[Path, ...]
    name: str | None = None
    store: str | None = None
    band: str | None = None
    entry: str | None = None
    modes: Path | None = None
    reward: str | None = None
    most_reward: float = 1.0
    columns: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    dry_run: bool = False


def import_results(wanted: Wanted, *, as_json: bool) -> int:
    """Import, print what came of it; returns the exit code."""
    name = slug(wanted.name or wanted.paths[0].resolve().stem)
    reader, choices = chosen(wanted)
    where = None if wanted.dry_run else store_of(wanted.store, name)
    made_now = where is not None and "://" not in where and not Path(where).exists()
    console = Console(stderr=True)
    try:
        with console.status("reading") as status:

            def watch(trials: int, faults: int) -> None:
                status.update(f"{trials:,} trials, {counted(faults, 'fault')}")

            brought = (
                bring(reader, wanted.paths, choices, None, watch)
                if where is None
                else take_in(open_store(where), name, reader, wanted.paths, choices, watch)
            )
    except SourceFault:
        if made_now:
            remove_ledger(Path(where or ""))
        raise
    except KeyboardInterrupt:
        kept = "nothing was written" if where is None else "what went in stays; run it again"
        console.print(f"interrupted: {kept}")
        return INTERRUPTED
    if made_now and not brought.trials:
        remove_ledger(Path(where or ""))
    if as_json:
        print(json.dumps(imported_json(brought, name, where), indent=1))
    else:
        Console().print(imported_text(brought, name, where))
    return FAULTS if brought.faults or brought.adopted.conflicts else 0


def take_in(
    engine: Engine,
    name: str,
    reader: Importer,
    paths: tuple[Path, ...],
    choices: Choices,
    watch: Watch = lambda trials, faults: None,
) -> Brought:
    """Import into a ledger, with the source and the profiles of its nodes.

    From the first commit on the ledger says whose results these are, so that an import that is cut
    off leaves none that pass for results of our own.
    """
    begun = False

    def began(trials: int, faults: int) -> None:
        nonlocal begun
        if trials and not begun:
            write_source(engine, name, unfinished(reader, paths, choices))
            begun = True
        watch(trials, faults)

    brought = bring(reader, paths, choices, Adoption(engine, name, reader.factors), began)
    if brought.trials:
        write_source(engine, name, brought.source)
    for node, profile in brought.profiles.items():
        write_node(engine, node, profile)
    return brought


def chosen(wanted: Wanted) -> tuple[Importer, Choices]:
    """The importer, and what it is to do.

    Raises:
        DesignError: no such kind, a wrong map of columns, or wrong rules.
    """
    columns = _columns(wanted)
    reader = _importer(wanted, columns)
    return reader, Choices(
        modes=modes_of(reader.kind, wanted.modes),
        band=band_of(wanted.band) if wanted.band else None,
        entry=wanted.entry,
        reward=wanted.reward,
        most_reward=wanted.most_reward,
        columns=columns,
    )


def modes_of(kind: Kind, own: Path | None) -> Modes:
    """The rules of a kind of source, the user's own before the built-in ones.

    Raises:
        DesignError: the file cannot be read, or its rules are wrong.
    """
    if own is None:
        return Modes(BUILT_IN[kind])
    try:
        text = own.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DesignError(f"--modes {own}: cannot be read: {error}") from error
    rules = rules_in(own, text).get(kind, ())
    return Modes((*rules, *BUILT_IN[kind]), hashlib.sha256(text.encode()).hexdigest()[:16])


def band_of(text: str) -> Band:
    """A band that the user names: of a shorthand its meaning, of a word only the name."""
    if SHORTHAND.match(text) or text == "uncapped":
        return Band.shorthand(text)
    return Band(name=band_label(text), stated=False)


def store_of(store: str | None, name: str) -> str:
    """The address of a ledger: what was asked for, else a run's folder of the experiment's name."""
    if store is None:
        return str(RUNS / name / LEDGER)
    if "://" in store:
        return store
    path = Path(store)
    return str(path if path.suffix in (".sqlite", ".db") or path.is_file() else path / LEDGER)


def _importer(wanted: Wanted, columns: TableColumns | None) -> Importer:
    kinds = get_args(Kind)
    if wanted.kind == "auto":
        return importer("table", columns) if columns else _one_look(wanted.paths)
    if wanted.kind not in kinds:
        raise DesignError(f"unknown kind {wanted.kind!r}; there are: {', '.join(kinds)}, auto")
    return importer(wanted.kind, columns)  # type: ignore[arg-type]


def _one_look(paths: Sequence[Path]) -> Importer:
    """The importer of what all the paths look like."""
    looks = {(found := detected(path)).kind: (found, path) for path in paths}
    if len(looks) > 1:
        told = ", ".join(f"{path} looks like {kind}" for kind, (_, path) in looks.items())
        raise DesignError(f"{told}: import one kind at a time; one --name takes them all in")
    ((found, _),) = looks.values()
    return found


def _columns(wanted: Wanted) -> TableColumns | None:
    if not wanted.columns:
        return None
    factors: dict[str, str] = {}
    for text in wanted.factors:
        name, equals, column = text.partition("=")
        if not (equals and name and column):
            raise DesignError(f"--factor {text!r} is not of the form NAME=COLUMN")
        factors[name.strip()] = column.strip()
    return TableColumns.parse(",".join(wanted.columns), factors)
