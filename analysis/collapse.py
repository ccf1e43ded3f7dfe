"""A table collapsed to cells as it streams by: ten million rows never become Python objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import polars as pl

from ..models.errors import DesignError, SampleTooSmall
from .arrays import AnyArray, Bools, Ints
from .cells import Cells
from .coding import AnyCoder, coded, coders_of, level_of
from .columns import FACTORS, Columns
from .tally import Tally
from .verdicts import COUNTS, INFRA, ODD, PASSED, VERDICTS, counts_of, verdict_of

# More combinations than this are grouped by polars, not counted in a table of all of them.
MOST_SLOTS = 1 << 22
ROWS_PER_READ = 1 << 19
ROWS_AT_ONCE = 1 << 17  # a column of so many stays in the processor's cache


def collapse(table: pl.LazyFrame, columns: Columns, *, seekable: bool = False) -> Cells:
    """Cells of a table, streamed in batches; factors without a column have the level "all".

    Args:
        table: rows of trials, or of counts. columns: which column means what.
        seekable: the table can be read from any row on at no cost (Parquet, or in memory): it is
            then read slice by slice, which holds less of it at a time than a stream does.
    Raises:
        DesignError: a column is missing or of the wrong kind, a row without a label, a trial that
            both passed and ended as an infra error, rewards outside 0..1, impossible counts.
        SampleTooSmall: the table holds no trial.
    """
    schema = table.collect_schema()
    if unknown := [column for column in columns.labelled.values() if column not in schema]:
        raise DesignError(f"no column {unknown[0]!r} in the table; it has: {', '.join(schema)}")
    coders = coders_of(schema, columns.labelled)
    levels = {level_of(name): pl.col(column) for name, column in columns.labelled.items()}
    verdict, counts = verdict_of(schema, columns), counts_of(schema, columns)
    by_counts = table.select(**counts, **levels)
    if verdict is None:
        sums = _by_counts(_batches(by_counts, seekable), coders)
    else:
        rows = table.select(verdict=verdict, **levels)
        sums = _by_verdict(_batches(rows, seekable), coders)
    return _grouped(by_counts, coders) if sums is None else _occurring(coders, sums)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over all combinations of levels, one axis per factor in the coders' order.

    Args:
        tables: one per name of `COUNTS`; or one alone, of rows by verdict on a last axis.
    """

    tables: Sequence[AnyArray]
    verdicts: bool

    @property
    def occurs(self) -> Bools:
        """Which combinations have a trial."""
        first = self.tables[0]
        if not self.verdicts:
            # Not above 0: what is no count at all must come as far as being refused.
            return np.asarray((first != 0.0) | (self.tables[-1] != 0.0))
        found: Bools = (first.reshape(-1, VERDICTS) @ np.ones(VERDICTS)) > 0.0
        return found.reshape(first.shape[:-1])

    def of(self, places: Ints) -> list[AnyArray]:
        """The sums of `COUNTS` of combinations, by their index in a flat table."""
        if not self.verdicts:
            return [table.reshape(-1)[places] for table in self.tables]
        return _by_verdicts(self.tables[0].reshape(-1, VERDICTS)[places])


def _batches(rows: pl.LazyFrame, seekable: bool) -> Iterator[pl.DataFrame]:
    for batch in _slices(rows) if seekable else rows.collect_batches():
        if batch.height:
            yield from batch.iter_slices(ROWS_AT_ONCE)


def _slices(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    height = rows.select(pl.len()).collect().item()
    for first in range(0, height, ROWS_PER_READ):
        yield rows.slice(first, ROWS_PER_READ).collect()


def _by_verdict(batches: Iterable[pl.DataFrame], coders: Mapping[str, AnyCoder]) -> _Sums | None:
    """The sum of each of `COUNTS` by level of every factor; None if they would be too large.

    The verdict is one more axis: counting rows costs half of summing weights.
    """
    tally = Tally(0)
    for batch in batches:
        codes, sizes = coded(batch, coders), _sizes(coders)
        if prod(sizes) > MOST_SLOTS:
            return None
        tally.add([*codes, batch["verdict"].to_numpy()], [*sizes, VERDICTS], batch.height)
    return _Sums(tally.tables, verdicts=bool(tally.rows))


def _by_counts(batches: Iterable[pl.DataFrame], coders: Mapping[str, AnyCoder]) -> _Sums | None:
    """The same of rows that bring counts, or fractions."""
    tally = Tally(len(COUNTS))
    for batch in batches:
        codes, sizes = coded(batch, coders), _sizes(coders)
        if prod(sizes) > MOST_SLOTS:
            return None
        tally.add(codes, sizes, batch.height, [batch[name].to_numpy() for name in COUNTS])
    return _Sums(tally.tables, verdicts=False)


def _grouped(rows: pl.LazyFrame, coders: Mapping[str, AnyCoder]) -> Cells:
    """The same by polars' group_by, for more combinations than a table of them should hold."""
    by = [level_of(name) for name in coders]
    sums = rows.group_by(by).agg(pl.col(*COUNTS).sum()).collect(engine="streaming")
    codes = coded(sums, coders)
    orders = [coder.order() for coder in coders.values()]
    levels = {name: names for name, (names, _) in zip(coders, orders, strict=True)}
    placed = [position[code] for (_, position), code in zip(orders, codes, strict=True)]
    return _cells(levels, placed, [sums[name].to_numpy() for name in COUNTS])


def _sizes(coders: Mapping[str, AnyCoder]) -> list[int]:
    return [len(coder.labels) for coder in coders.values()]


def _by_verdicts(table: AnyArray) -> list[AnyArray]:
    """The sums of `COUNTS`, from rows of counts by verdict."""
    passed = table[:, PASSED]
    return [table.sum(axis=1), passed, table[:, INFRA], passed, passed, table[:, ODD]]


def _occurring(coders: Mapping[str, AnyCoder], sums: _Sums) -> Cells:
    """Cells of the combinations that occur in tables with one axis per factor."""
    occurs = sums.occurs
    if not occurs.any():
        raise SampleTooSmall("the table holds no trial; nothing to analyse")
    orders = [coder.order() for coder in coders.values()]
    seen_at = [np.argsort(position) for _, position in orders]
    codes = np.nonzero(occurs[np.ix_(*seen_at)])
    rows = np.ravel_multi_index(
        [seen[code] for seen, code in zip(seen_at, codes, strict=True)], occurs.shape
    )
    levels = {name: names for name, (names, _) in zip(coders, orders, strict=True)}
    return _cells(levels, codes, sums.of(rows))


def _cells(
    levels: Mapping[str, tuple[str, ...]], codes: Sequence[AnyArray], counts: Sequence[AnyArray]
) -> Cells:
    n, passed, infra, total, total_sq, odd = counts
    if odd.any():
        raise DesignError(
            f"{int(odd.sum())} rows contradict themselves: a trial that passed and ended as an "
            "infra error, a verdict or reward outside 0..1, or more endings than trials; decide "
            "in the table which of them holds"
        )
    cells = Cells(
        levels,
        {f: np.asarray(code, dtype=np.int64) for f, code in zip(levels, codes, strict=True)},
        n.astype(np.int64),
        passed.astype(np.int64),
        infra.astype(np.int64),
        total.astype(np.float64),
        total_sq.astype(np.float64),
    )
    absent = {name: "all" for name in FACTORS if name not in levels}
    return cells.constant(**absent) if absent else cells
