"""Attempts as files for other tools: Parquet, CSV, JSON lines, and HiBayES's layout."""

from pathlib import Path
from typing import Literal, get_args

import polars as pl

from ..models.errors import DesignError
from .hibayes import write_hibayes

type Format = Literal["parquet", "csv", "jsonl", "hibayes"]
FORMATS: tuple[str, ...] = get_args(Format.__value__)
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Texts that begin so are run as formulas by spreadsheets."""


def of_entry(attempts: pl.DataFrame, entry: str) -> pl.DataFrame:
    """The attempts of one entry.

    Raises:
        DesignError: there is none of that name.
    """
    found = attempts.filter(entry=entry)
    if found.is_empty():
        known = ", ".join(attempts["entry"].unique().sort()[:12])
        raise DesignError(f"there is no entry {entry!r}; there are: {known}")
    return found


def write_attempts(
    attempts: pl.DataFrame, experiment: str, form: Format, path: Path, *, accepted: bool = False
) -> int:
    """Write attempts, one row each, all their facts in columns; returns how many rows.

    A file of that name is replaced, at once. `hibayes` writes `data.parquet` into the folder
    `path`, of trials with an outcome.

    Args:
        attempts: see `attempt_frame`.
        accepted: only attempts whose outcome is their trial's.
    """
    rows = attempts.filter("accepted") if accepted or form == "hibayes" else attempts
    if form == "hibayes":
        write_hibayes(path, attempts, experiment)
        return rows.height
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}")
    match form:
        case "parquet":
            rows.write_parquet(draft)
        case "csv":
            flat(rows).write_csv(draft)
        case "jsonl":
            rows.write_ndjson(draft)
    draft.replace(path)
    return rows.height


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Lists as texts, and no text that a spreadsheet would run as a formula."""
    lists = [name for name, kind in rows.schema.items() if isinstance(kind, pl.List)]
    joined = rows.with_columns(pl.col(lists).list.join(" | "))
    texts = [name for name, kind in joined.schema.items() if kind == pl.String]
    return joined.with_columns(
        pl.when(pl.any_horizontal(pl.col(name).str.starts_with(mark) for mark in FORMULA))
        .then("'" + pl.col(name))
        .otherwise(pl.col(name))
        .alias(name)
        for name in texts
    )
