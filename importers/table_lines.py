"""Rows of a table file, one at a time: CSV, TSV, JSON lines. Parquet is in `table_parquet`."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..models.errors import SourceFault
from .bounded import decoded, json_fault, kind

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
    for number, line in enumerate(_Lines(path), start=1):
        place = f"line {number:,}"
        if not line.strip():
            continue
        try:
            row = json.loads(line.strip())
        except json.JSONDecodeError as error:
            raise json_fault(path, error, place) from error
        except RecursionError as error:
            raise SourceFault(path, place, "is nested too deeply to be results") from error
        if not isinstance(row, dict):
            raise SourceFault(path, place, f"an object belongs here, not a {kind(row)}")
        yield place, row


class _Lines:
    """The lines of a text file, none longer than `LONGEST_LINE` bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[str]:
        try:
            with self._path.open("rb") as file:
                number = 0
                while line := file.readline(LONGEST_LINE + 1):
                    number += 1
                    place = f"line {number:,}"
                    if len(line) > LONGEST_LINE:
                        problem = f"is longer than {LONGEST_LINE:,} bytes: no row of results"
                        raise SourceFault(self._path, place, problem)
                    yield decoded(self._path, line, place)
        except OSError as error:
            raise SourceFault(
                self._path, "", f"cannot be read: {error.strerror or error}"
            ) from error
