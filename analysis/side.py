"""One side of a comparison: a set of results, what it counted, how it was configured."""

from dataclasses import dataclass, field, replace

import polars as pl

from ..models.source import Source
from .cells import Cells
from .configuration import Configuration, configuration
from .read_ledger import Study


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A set of results: name, counts by task, entry and band, and configuration.

    `sources` are set where others produced it; `study` is what it was counted from.
    """

    name: str
    cells: Cells
    configuration: Configuration
    sources: tuple[Source, ...] = ()
    study: Study | None = field(default=None, repr=False)

    def by_entry(self) -> tuple[Configuration, ...]:
        """The configuration of each entry alone."""
        if self.study is None:
            return (self.configuration,)
        entries = self.study.attempts["entry"].unique().sort()
        return tuple(configuration(_of_entry(self.study, entry)) for entry in entries)


def side(study: Study, name: str, entry: str = "") -> Side:
    """A study as a side, or one entry of it.

    Raises:
        DesignError: there is no such entry; the text names those there are.
    """
    cells = study.cells.select(entry=entry) if entry else study.cells
    if entry:
        study = _of_entry(study, entry)
    small = cells.by("task", "entry", "band")
    return Side(name, small, configuration(study), study.sources, study)


def _of_entry(study: Study, entry: str) -> Study:
    return replace(study, attempts=study.attempts.filter(pl.col("entry") == entry))
