"""A table file as cells; the door through which files come in."""

from pathlib import Path

import polars as pl

from ..models.errors import DesignError
from .cells import Cells
from .collapse import collapse
from .columns import Columns

# Rows that tell what kind a CSV's columns are; where a later row is of another kind, all rows do.
TELLING_ROWS = 10_000


def read_table(path: Path, columns: Columns) -> Cells:
    """Cells of a CSV, TSV or Parquet file, streamed.

    Raises:
        DesignError: no such file, of another kind, or that cannot be read; and as `collapse`.
        SampleTooSmall: as `collapse`.
    """
    if not path.exists():
        raise DesignError(f"{path}: no such table")
    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            return collapse(pl.scan_parquet(path), columns, seekable=True)
        if suffix in (".csv", ".tsv"):
            return _separated(path, "\t" if suffix == ".tsv" else ",", columns)
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    raise DesignError(f"{path}: not a .csv, .tsv or .parquet table")


def _separated(path: Path, separator: str, columns: Columns) -> Cells:
    """A 0.5 may follow ten thousand passes of 0 and 1, and a name as many numbered tasks."""
    try:
        rows = pl.scan_csv(path, separator=separator, infer_schema_length=TELLING_ROWS)
        return collapse(rows, columns)
    except pl.exceptions.ComputeError:
        return collapse(pl.scan_csv(path, separator=separator, infer_schema_length=None), columns)


def unreadable(path: Path, error: pl.exceptions.PolarsError) -> DesignError:
    """The refusal of a file that is not what its name says."""
    told = str(error).strip().split("\n")[0] or type(error).__name__
    return DesignError(f"{path}: this table cannot be read: {told}")
