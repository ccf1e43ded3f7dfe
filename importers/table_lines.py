"""Rows of a table file, one at a time: CSV, TSV, JSON lines. Parquet is in `table_parquet`."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..models.errors import SourceFault
from .bounded import decoded
from .json_bounded import FEW_BYTES, check_parts, kind, loads

LONGEST_LINE = 16 * 1024 * 1024

type Row = tuple[str, dict[str, Any]]
"""A row's place, for faults, and its values by column."""


def csv_rows(path: Path, separator: str = ",") -> Iterator[Row]:
    """The rows of a CSV file with a heading, streamed.

    Raises:
        SourceFault: no heading, a row of another length, an endless line, or no UTF-8.
    """
    lines = _Lines(path)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        heading = next(reader, None)
        if not heading:
            raise SourceFault(path, "line 1", "a heading with column names belongs here")
        for values in reader:
            lines.held = 0
            place = f"line {reader.line_num:,}"
            if not values:
                continue
            if len(values) != len(heading):
                problem = f"has {len(values)} values, the heading names {len(heading)} columns"
                raise SourceFault(path, place, problem)
            yield place, dict(zip(heading, values, strict=True))
    except csv.Error as error:
        raise SourceFault(path, f"line {reader.line_num:,}", f"is no CSV: {error}") from error


def json_rows(path: Path) -> Iterator[Row]:
    """The objects of a JSON lines file, streamed.

    Raises:
        SourceFault: a line is no JSON object, endless, or not UTF-8.
    """
    lines = _Lines(path)
    for number, line in enumerate(lines, start=1):
        lines.held = 0
        place = f"line {number:,}"
        if not line.strip():
            continue
        if len(line) > FEW_BYTES:
            check_parts(path, line, place)
        row = loads(path, line.strip(), place)
        if not isinstance(row, dict):
            raise SourceFault(path, place, f"an object belongs here, not a {kind(row)}")
        yield place, row


class _Lines:
    """The lines of a text file. Those of one row are no longer than `LONGEST_LINE` bytes together:
    who takes a row sets what is `held` to 0."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.held = 0

    def __iter__(self) -> Iterator[str]:
        try:
            with self._path.open("rb") as file:
                number = 0
                while line := file.readline(LONGEST_LINE + 1):
                    number += 1
                    place = f"line {number:,}"
                    self.held += len(line)
                    if self.held > LONGEST_LINE:
                        problem = f"is longer than {LONGEST_LINE:,} bytes: no row of results"
                        raise SourceFault(self._path, place, problem)
                    yield decoded(self._path, line, place)
        except OSError as error:
            raise SourceFault(
                self._path, "", f"cannot be read: {error.strerror or error}"
            ) from error
