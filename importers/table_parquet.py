"""Rows of a Parquet file, one at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from ..models.errors import SourceFault
from .table_lines import Row

AT_ONCE = 20_000


def parquet_rows(path: Path, wanted: Sequence[str]) -> Iterator[Row]:
    """The rows of a Parquet file, only the columns that are wanted.

    Raises:
        SourceFault: the file is no Parquet, or is damaged; a wanted column is not there.
    """
    try:
        names = pl.read_parquet_schema(path)
        if missing := [name for name in wanted if name not in names]:
            known = ", ".join(list(names)[:20])
            raise SourceFault(path, missing[0], f"there is no such column; there are: {known}")
        table = pl.scan_parquet(path).select(list(dict.fromkeys(wanted)))
        start = 0
        while not (some := table.slice(start, AT_ONCE).collect()).is_empty():
            for number, row in enumerate(some.iter_rows(named=True), start=start + 1):
                yield f"row {number:,}", row
            start += AT_ONCE
    except OSError as error:
        raise SourceFault(path, "", f"cannot be read: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise SourceFault(path, "", f"is no whole Parquet file: {error}") from error
