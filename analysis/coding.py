"""Labels of a column as small integers, learned while the column streams by.

A label is known by its 64-bit hash, which polars computes at a few nanoseconds a row; two labels
of a column share one with a chance of about labels^2 / 4e19.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..models.errors import DesignError
from .arrays import Ints
from .integer_coding import IntegerCoder
from .levels import ordered

type Hashes = NDArray[np.uint64]
type AnyCoder = Coder | IntegerCoder

NARROW = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)

WIDEST_TABLE_BITS = 16
MOST_IN_TABLE = 1024  # labels; more of them hardly ever fall without collision
FIRST_LOOK = 4096
# Odd powers of 2^64 over the golden ratio: each spreads hashes over a table in its own way.
MULTIPLIERS = tuple(np.uint64(pow(0x9E3779B97F4A7C15, k, 1 << 64)) for k in range(1, 17))


class _Scratch:
    """Arrays that lookups of so many rows write to, again and again."""

    def __init__(self, rows: int) -> None:
        self.place = np.empty(rows, dtype=np.uint64)
        self.known = np.empty(rows, dtype=np.uint64)
        self.code = np.empty(rows, dtype=np.int64)


class Coder:
    """Codes of one column's labels, in order of first sight.

    Lookup is one multiplication and two reads of a table without collisions; columns with more
    labels than such a table can hold are searched by bisection.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self.labels: list[str] = []
        self._hashes: Hashes = np.zeros(0, dtype=np.uint64)
        self._scratch = _Scratch(0)
        self._rebuild(self._hashes)

    def codes(self, labels: pl.Series, hashes: Hashes) -> Ints:
        """The code of every row of a batch; labels never seen before are added.

        Args:
            labels: the batch's column. hashes: of the same rows.
        Returns: an array that the next call overwrites: fresh memory would cost five times as much
            as the lookup itself.
        Raises:
            DesignError: a row without a label.
        """
        if self._scratch.known.size != hashes.size:
            self._scratch = _Scratch(hashes.size)
        known, place, at_once = self._scratch.known, self._place(hashes), FIRST_LOOK
        # A first look at a few rows finds most labels; sorting all of them to find them is dear.
        while not np.array_equal(np.take(self._known, place, out=known, mode="clip"), hashes):
            self._learn(labels, hashes, np.flatnonzero(known != hashes)[:at_once])
            place, at_once = self._place(hashes), 8 * at_once
        return np.take(self._code, place, out=self._scratch.code, mode="clip")

    def order(self) -> tuple[tuple[str, ...], Ints]:
        """The labels in reading order, and for each code its index in it."""
        names = ordered(self.labels)
        index = {name: i for i, name in enumerate(names)}
        return names, np.array([index[label] for label in self.labels], dtype=np.int64)

    def _learn(self, labels: pl.Series, hashes: Hashes, rows: Ints) -> None:
        fresh, first = np.unique(hashes[rows], return_index=True)
        names = labels.gather(rows[first]).cast(pl.String).to_list()
        if None in names:
            raise unlabelled(self.column)
        self.labels += names
        self._rebuild(np.concatenate([self._hashes, fresh]))

    def _rebuild(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._spread = _spread(hashes)
        if self._spread is None:
            by_hash = np.argsort(hashes)
            self._known, self._code = hashes[by_hash], by_hash.astype(np.int64)
            return
        slots = 1 << (64 - int(self._spread[1]))
        self._known, self._code = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
        place = self._place(hashes)
        self._known[place], self._code[place] = hashes, np.arange(hashes.size)

    def _place(self, hashes: Hashes) -> Ints:
        if self._spread is None:
            found = np.searchsorted(self._known, hashes)
            return np.minimum(found, self._known.size - 1)
        multiplier, shift = self._spread
        place = self._scratch.place if hashes.size == self._scratch.place.size else None
        product = np.multiply(hashes, multiplier, out=place)
        return np.right_shift(product, shift, out=product).view(np.int64)


def level_of(factor: str) -> str:
    """The name of a factor's column in a batch; no other column begins like it."""
    return f"level {factor}"


def coders_of(schema: pl.Schema, columns: Mapping[str, str]) -> dict[str, AnyCoder]:
    """A coder for each factor's column, factor -> coder."""
    return {
        name: IntegerCoder(column) if schema[column] in NARROW else Coder(column)
        for name, column in columns.items()
    }


def coded(batch: pl.DataFrame, coders: Mapping[str, AnyCoder]) -> list[Ints]:
    """Codes of a batch's factors, in the coders' order, of its columns `level_of(factor)`.

    Raises:
        DesignError: a row without a label.
    """
    hashed = [level_of(name) for name, coder in coders.items() if isinstance(coder, Coder)]
    # One call for all columns: a call costs more than its rows.
    hashes = batch.select(pl.col(hashed).hash()) if hashed else batch
    found = []
    for name, coder in coders.items():
        labels = batch[level_of(name)]
        if isinstance(coder, Coder):
            found.append(coder.codes(labels, hashes[level_of(name)].to_numpy()))
            continue
        if labels.null_count():
            raise unlabelled(coder.column)
        found.append(coder.codes(labels.to_numpy()))
    return found


def unlabelled(column: str) -> DesignError:
    """The refusal of rows that say nothing of a factor."""
    return DesignError(f"column {column!r} has rows without a label; fill or drop them")


def _spread(hashes: Hashes) -> tuple[np.uint64, np.uint64] | None:
    """A multiplier and a shift that send every hash to a place of its own, if there are any."""
    if hashes.size > MOST_IN_TABLE:
        return None
    for bits in range(max(4, hashes.size.bit_length()), WIDEST_TABLE_BITS + 1):
        shift = np.uint64(64 - bits)
        for multiplier in MULTIPLIERS:
            if np.unique((hashes * multiplier) >> shift).size == hashes.size:
                return multiplier, shift
    return None
