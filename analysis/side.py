"""One side of a comparison: a set of results, what it counted, how it was configured."""

from dataclasses import dataclass, field, replace

import polars as pl

from ..models.source import Source
from .cells import Cells
from .configuration import Configuration, configuration
from .read_ledger import Study

LOST = ("trials cut off", "samples that never ended")
"""What importers call that which ended before it had an outcome; see `importers.harbor_said`."""


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """A set of results: name, counts by task, entry and band, and configuration.

    `sources` are set where others produced it; `unended` trials were planned, or begun, and have no
    outcome, though nobody meant to stop; `study` is what it was counted from.
    """

    name: str
    cells: Cells
    configuration: Configuration
    sources: tuple[Source, ...] = ()
    unended: int = 0
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
    unended = _unended(study, entry)
    if entry:
        study = _of_entry(study, entry)
    small = cells.by("task", "entry", "band")
    return Side(name, small, configuration(study), study.sources, unended, study)


def _unended(study: Study, entry: str) -> int:
    if study.stopped:
        return 0
    ended = study.attempts.filter("accepted")
    if entry:
        planned = study.planned_of.get(entry, 0)
        return max(0, planned - ended.filter(pl.col("entry") == entry).height)
    lost = [lack.trials or 0 for s in study.sources for lack in s.unrecorded if lack.what in LOST]
    return max(0, study.planned - ended.height) + sum(lost)


def _of_entry(study: Study, entry: str) -> Study:
    return replace(study, attempts=study.attempts.filter(pl.col("entry") == entry))
