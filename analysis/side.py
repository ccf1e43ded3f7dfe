"""One side of a comparison: a set of results, what it counted, how it was configured."""

from dataclasses import dataclass, replace

import polars as pl

from ..models.source import Source
from .cells import Cells
from .configuration import Configuration, configuration
from .read_ledger import Study


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A set of results: name, counts by task, entry and band, and configuration.

    `sources` are set where others produced it.
    """

    name: str
    cells: Cells
    configuration: Configuration
    sources: tuple[Source, ...] = ()


def side(study: Study, name: str, entry: str = "") -> Side:
    """A study as a side, or one entry of it.

    Raises:
        DesignError: there is no such entry; the text names those there are.
    """
    cells = study.cells.select(entry=entry) if entry else study.cells
    if entry:
        study = replace(study, attempts=study.attempts.filter(pl.col("entry") == entry))
    small = cells.by("task", "entry", "band")
    return Side(name, small, configuration(study), study.sources)
