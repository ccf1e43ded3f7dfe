"""Tables with one row per trial: CSV, TSV, Parquet, JSON lines, with a map of their columns."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..models.band import SHORTHAND, Band
from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.errors import DesignError, SourceFault
from ..models.foreign import Facts, ForeignAttempt, ForeignTrial, told_origin
from .bounded import files
from .ending import Ending, evidence_of
from .labels import band_label, label, short
from .moments import between, hour_of
from .reading import Account, Choices, Importer, Unit
from .table_cells import Cells
from .table_columns import TableColumns
from .table_lines import Row, csv_rows, json_rows
from .untold import NO_CLOCKS, NO_CONDITIONS, NO_USAGE, named_task

LINES = (".jsonl", ".ndjson")
SUFFIXES = (".csv", ".tsv", ".parquet", ".pq", *LINES)


def read_tables(paths: Sequence[Path], choices: Choices, account: Account) -> Iterator[Unit]:
    """The rows of every table, one streamed unit a file; a copy of a file before it is a fault.

    Raises:
        DesignError: there is no map of columns.
    """
    columns = choices.columns
    if columns is None:
        raise DesignError(
            "a table needs a map of its columns: --column task=COLUMN,passed=COLUMN, and entry, "
            "band, run, mode, id, started, ended where it has them"
        )
    read: dict[bytes, Path] = {}
    for path in paths:
        for file in tables_in(path, account.faults):
            try:
                with file.open("rb") as content:
                    digest = hashlib.file_digest(content, "sha256").digest()
            except OSError as error:
                problem = f"cannot be read: {error.strerror or error}"
                account.faults.append(SourceFault(file, "", problem))
                continue
            if digest in read:
                account.faults.append(SourceFault(file, "", f"is a copy of {read[digest]}"))
                continue
            read[digest] = file
            account.saw(digest)
            yield Unit(file, _trials(file, columns, choices), streamed=True)
    _lacking(account, columns)


def tables_in(path: Path, faults: list[SourceFault]) -> Sequence[Path]:
    """The tables in a folder, or the one that a path is."""
    if path.is_file():
        return [path]
    return [file for file in files(path, faults) if file.suffix.lower() in SUFFIXES]


def _trials(path: Path, columns: TableColumns, choices: Choices) -> Iterator[ForeignTrial]:
    checked, met = False, Counter[bytes]()
    for place, row in _rows(path, columns):
        if not checked and path.suffix.lower() not in LINES:
            _check_columns(path, columns, row)
            checked = True
        content = hashlib.sha256(repr(sorted(row.items(), key=str)).encode()).digest()
        met[content] += 1
        own_id = f"{path.name}/{content.hex()[:32]}/{met[content]}"
        yield trial_of(Cells(path, place, row, columns), own_id, choices)


def _rows(path: Path, columns: TableColumns) -> Iterator[Row]:
    match path.suffix.lower():
        case ".csv":
            return csv_rows(path)
        case ".tsv":
            return csv_rows(path, "\t")
        case ".jsonl" | ".ndjson":
            return json_rows(path)
        case ".parquet" | ".pq":
            from .table_parquet import parquet_rows  # polars is slow to load

            return parquet_rows(path, list(columns.named.values()))
    raise SourceFault(path, "", f"is no table; its name must end in one of {', '.join(SUFFIXES)}")


def _check_columns(path: Path, columns: TableColumns, row: Mapping[str, Any]) -> None:
    for role, column in columns.named.items():
        if column not in row:
            known = ", ".join(list(row)[:20])
            raise SourceFault(path, f"{role}={column}", f"no such column; there are: {known}")


def trial_of(cells: Cells, own_id: str, choices: Choices) -> ForeignTrial:
    """One row as a trial.

    Args:
        own_id: what to call the trial where its table has no names for trials.
    Raises:
        SourceFault: a value is not what its column should hold.
    """
    task = label(cells.path, cells.at("task"), cells.value("task"))
    run = cells.text("run") or cells.path.stem
    mode, message = cells.text("mode"), cells.text("message")
    if not mode and cells.flag("infra_error"):
        mode = "infra_error"
    judged, settled = choices.modes.word(mode, message), choices.modes.settles(mode, message)
    reward = cells.reward(choices.most_reward)
    walls: dict[Any, float | None] = {} if reward is None else {"verifier": None}
    id_ = cells.text("id") or own_id
    return ForeignTrial(
        identity=f"table/{id_}",
        task=named_task(task),
        entry=_entry(cells, choices),
        band=choices.band or _band(cells),
        levels=_levels(cells),
        run=run,
        attempts=(
            ForeignAttempt(
                evidence=evidence_of(
                    Ending(judged, mode, message, reward, walls=walls, settled=settled)
                ),
                conditions=_conditions(cells),
                usage=NO_USAGE,
                clocks=_clocks(cells),
                origin=told_origin(kind="table", id=id_, run=run, mode=mode, judged=judged),
            ),
        ),
    )


def _entry(cells: Cells, choices: Choices) -> Entry:
    agent, model = cells.text("agent"), cells.text("model")
    name = choices.entry or cells.text("entry") or "/".join(filter(None, (agent, model)))
    name = short(name or cells.path.stem, 120)
    return Entry(agent=f"table:{agent or name}", model=model or UNRECORDED, name=name)


def _band(cells: Cells) -> Band:
    text = cells.text("band")
    if SHORTHAND.match(text) or text == "uncapped":
        return Band.shorthand(text)
    return Band(name=band_label(text or UNRECORDED), stated=False)


def _levels(cells: Cells) -> tuple[tuple[str, str], ...]:
    names = [*(["concurrency"] if cells.columns.concurrency else []), *cells.columns.factors]
    return tuple((name, text) for name in names if (text := cells.text(name)))


def _conditions(cells: Cells) -> Facts:
    hour, slots = hour_of(cells.moment("started")), cells.text("concurrency")
    return {
        **NO_CONDITIONS,
        "slots": int(slots) if slots.isdigit() else None,
        "hour_utc": hour.hour_utc,
        "weekday": hour.weekday,
    }


def _clocks(cells: Cells) -> Facts:
    started, ended = cells.moment("started"), cells.moment("ended")
    return {
        **NO_CLOCKS,
        "received_at": started,
        "agent_s": between(started, ended),
        "ended_at": ended,
    }


def _lacking(account: Account, columns: TableColumns) -> None:
    """A table tells what its columns tell."""
    for role, why in UNTOLD.items():
        if role == "mode" and columns.infra_error:
            why = "why trials ended as infrastructure errors is unknown"
        if role not in columns.named:
            account.lacks(f"{role} (no column)", why)
    account.lacks("OOM kills, limits in force, nodes, load", "a table of outcomes holds none")


UNTOLD = {
    "entry": "all rows count as one entry, unless agent and model have columns",
    "band": "all rows count as one configuration of resources",
    "mode": "infrastructure errors cannot be told from wrong answers, but by an empty outcome",
    "run": "what was set per run is read as set per file",
    "started": "no dates, no hours, no neighbours",
    "concurrency": "how many trials ran at once is unknown",
}


def knows_tables(path: Path) -> bool:
    """The path is a table: but of its columns nothing is known."""
    return path.is_file() and path.suffix.lower() in SUFFIXES


def table_importer(columns: TableColumns | None) -> Importer:
    """The importer of tables with these columns: its factors are those that they name."""
    factors = () if columns is None else tuple(columns.factors)
    concurrency = ("concurrency",) if columns is not None and columns.concurrency else ()
    return Importer("table", read_tables, (*concurrency, *factors), knows_tables)
