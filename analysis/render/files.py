"""The report as files in a folder: page, document, attempts, and every table as CSV."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from ...models.errors import DesignError
from ..cells import Cells
from ..findings import Findings
from ..findings_json import to_json
from ..hibayes import FOLDER as HIBAYES
from ..hibayes import hibayes_of_cells, write_frame, write_hibayes
from ..run_facts import RunFacts
from ..tables import Row, columns, tables
from .page import page

PAGE, DOCUMENT, TRIALS, TABLES = "report.html", "report.json", "trials.parquet", "tables"
MOST_TRIALS = 1_000_000
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_files(
    folder: Path,
    found: Findings,
    run: RunFacts | None = None,
    attempts: pl.DataFrame | None = None,
    title: str = "",
    cells: Cells | None = None,
) -> Path:
    """Write the report; returns the path of its page.

    Makes `report.html`, `report.json`, `tables/*.csv` and, with attempts, `trials.parquet` and
    `hibayes/data.parquet`; the latter from `cells` as well, of a table without fractional rewards
    and of a million trials at most. Files of these names are replaced.

    Raises:
        DesignError: the folder cannot be written.
        InfranoiseError: the parts that draw charts are not installed.
    """
    try:
        return _written(folder, found, run, attempts, title, cells)
    except OSError as error:
        raise DesignError(
            f"{folder}: the report cannot be written: {error.strerror}; name another folder with "
            "--out, or make room"
        ) from error


def _written(
    folder: Path,
    found: Findings,
    run: RunFacts | None,
    attempts: pl.DataFrame | None,
    title: str,
    cells: Cells | None,
) -> Path:
    (folder / TABLES).mkdir(parents=True, exist_ok=True)
    document = json.dumps(to_json(found, run), indent=1, allow_nan=False, ensure_ascii=False)
    _replace(folder / DOCUMENT, document)
    for name, rows in tables(found, run).items():
        write_csv(folder / TABLES / f"{name}.csv", rows)
    if attempts is not None and run is not None:
        draft = folder / f".{TRIALS}"
        attempts.write_parquet(draft)
        draft.replace(folder / TRIALS)
        write_hibayes(folder / HIBAYES, attempts, run.experiment.name)
    elif cells is not None and not cells.fractional and cells.n.sum() <= MOST_TRIALS:
        write_frame(folder / HIBAYES, hibayes_of_cells(cells, title))
    _replace(folder / PAGE, page(found, run, title))
    return folder / PAGE


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One table as CSV; text that a spreadsheet would run as a formula is quoted with '."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns(rows), restval="")
        writer.writeheader()
        writer.writerows({name: _inert(value) for name, value in row.items()} for row in rows)


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}")
    draft.write_text(text, encoding="utf-8", errors="backslashreplace")
    draft.replace(path)
