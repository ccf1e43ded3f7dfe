"""A table file as cells; the door through which files come in."""

from pathlib import Path

import polars as pl

from ..models.errors import DesignError
from .cells import Cells
from .collapse import collapse
from .columns import Columns


def read_table(path: Path, columns: Columns) -> Cells:
    """Cells of a CSV, TSV or Parquet file, streamed.

    Raises:
        DesignError: no such file, or of another kind; and as `collapse`.
        SampleTooSmall: as `collapse`.
    """
    if not path.exists():
        raise DesignError(f"{path}: no such table")
    match path.suffix.lower():
        case ".parquet" | ".pq":
            return collapse(pl.scan_parquet(path), columns, seekable=True)
        case ".csv":
            return collapse(pl.scan_csv(path), columns)
        case ".tsv":
            return collapse(pl.scan_csv(path, separator="\t"), columns)
    raise DesignError(f"{path}: not a .csv, .tsv or .parquet table")
