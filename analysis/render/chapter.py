"""What a page is made of: chapters of one plain sentence, charts, tables. Values only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

type Tone = Literal["", "good", "bad", "warn", "muted", "name"]

ABSENT = "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its text and how it looks; `pills` are short marked counts instead."""

    text: str
    tone: Tone = ""
    pills: tuple[tuple[str, Tone], ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose first column heads its rows; `numeric` names the columns set as numbers."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[int] = frozenset()
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and what it shows, in words; `spec` is Vega-Lite, `width` that of its still."""

    caption: str
    spec: Mapping[str, Any]
    width: int = 660


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter. `lead` is its plain sentence; `listing` is text shown as it is."""

    anchor: str
    title: str
    lead: str
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    listing: str = ""
    small: bool = field(default=False)


def table(
    caption: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[Cell | str]],
    *,
    words: Sequence[int] = (),
    folded: bool = False,
) -> Table:
    """A table of plain texts; every column but the first and those in `words` is of numbers."""
    made = tuple(
        tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows
    )
    numbers = frozenset(range(1, len(headings))) - frozenset(words)
    return Table(caption, tuple(headings), made, numbers, folded)
