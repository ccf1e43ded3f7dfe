"""`infranoise.analyze`: from a table of trials, or from cells, to findings."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path

import polars as pl

from ..models.errors import DesignError
from .budget import ScoreDesign
from .cells import Cells
from .columns import Columns
from .equivalence import MARGIN
from .factor import Factor
from .findings import Findings, findings
from .parts import Asked
from .read import read_table, unreadable

ROLES = frozenset(field.name for field in fields(Columns)) - {"factors"}
SUFFIXES = frozenset({".csv", ".tsv", ".parquet", ".pq"})


def analyze(
    table: Cells | Path | str,
    *,
    columns: Mapping[str, str] | str | None = None,
    factors: Iterable[Factor | str] = (),
    reference: str | None = None,
    margin: float = MARGIN,
    arms: bool = False,
    budget_at: ScoreDesign | str | None = None,
) -> Findings:
    """Every finding of a table of trials or counts; see `findings_json` for the names.

    Args:
        table: the path of a CSV, TSV or Parquet table, or cells.
        columns: role -> column, as a mapping `{"task": "t", "passed": "y"}` or as text
            "task=t,passed=y"; for roles see `Columns`. By default columns bear the roles' names.
        factors: further columns that may move the score, such as "node" (observed),
            "egress:assigned=trial" or "concurrency:assigned=wave:batch".
        reference: the floor band; by default the first in reading order.
        margin: of equivalence, a fraction.
        arms: the table's two bands are identical arms, an A/A test of whoever ran them.
        budget_at: budget the noise of a score of this design, such as "tasks=89,samples=5", in
            place of the one that was run.
    Raises:
        DesignError: the table, its columns or its factors are not as said.
    """
    cells, asked = question(table, columns, factors, reference, margin)
    at = ScoreDesign.parse(budget_at) if isinstance(budget_at, str) else budget_at
    return findings(cells, replace(asked, arms=arms, budget_at=at))


def question(
    table: Cells | Path | str,
    columns: Mapping[str, str] | str | None = None,
    factors: Iterable[Factor | str] = (),
    reference: str | None = None,
    margin: float = MARGIN,
) -> tuple[Cells, Asked]:
    """The cells of a table and what is asked of them; arguments and errors as `analyze`."""
    asked = [f if isinstance(f, Factor) else Factor.parse(f) for f in factors]
    waves = tuple(dict.fromkeys(f.wave for f in asked if f.wave is not None))
    if not isinstance(table, Cells):
        names = [*(f.name for f in asked if f.name != "band"), *waves]
        table = read_table(Path(table), named_columns(Path(table), columns, names))
    return table, Asked(reference, tuple(asked), waves, margin)


def named_columns(
    table: Path, columns: Mapping[str, str] | str | None, factors: Iterable[str] = ()
) -> Columns:
    """Columns from text, from a mapping, or from the table's own names where they are roles.

    Further factors stand in columns of their own names.

    Raises:
        DesignError: as `Columns.parse`, or no column of the table bears a role's name.
    """
    further = {name: name for name in factors}
    if columns is None:
        columns = {role: role for role in _header(table) if role in ROLES}
        if not {"passed", "passes"} & columns.keys():
            raise DesignError(
                f"{table}: which column means what? say so, for example "
                "task=…,entry=…,band=…,passed=…,infra_error=…"
            )
    if not isinstance(columns, str):
        columns = ",".join(f"{role}={column}" for role, column in columns.items())
    return Columns.parse(columns, further)


def is_table(path: str | Path) -> bool:
    """True if a path names a table rather than a store."""
    return Path(path).suffix.lower() in SUFFIXES


def _header(table: Path) -> list[str]:
    if not table.is_file():
        raise DesignError(f"{table}: no such table")
    separator = "\t" if table.suffix.lower() == ".tsv" else ","
    try:
        if table.suffix.lower() in (".parquet", ".pq"):
            return pl.scan_parquet(table).collect_schema().names()
        return pl.scan_csv(table, separator=separator).collect_schema().names()
    except pl.exceptions.PolarsError as error:
        raise unreadable(table, error) from error
