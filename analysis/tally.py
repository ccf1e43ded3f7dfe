"""Running sums over all combinations of levels, in tables that grow with the levels seen."""

from collections.abc import Sequence

import numpy as np

from .arrays import AnyArray, Ints
from .grouping import mixed_radix


class Tally:
    """Sums of weights by a growing number of levels per factor.

    Args:
        weights: how many weights each row brings; 0 counts the rows themselves.
    """

    def __init__(self, weights: int) -> None:
        self.tables: list[AnyArray] = [np.zeros(()) for _ in range(max(weights, 1))]
        """One table per weight, with one axis per factor."""
        self.rows = 0
        self._key = np.empty(0, dtype=np.int64)

    def add(
        self,
        codes: Sequence[Ints],
        sizes: Sequence[int],
        rows: int,
        weights: Sequence[AnyArray] = (),
    ) -> None:
        """Add a batch of rows; `sizes` are the levels seen so far, never fewer than before."""
        if tuple(sizes) != self.tables[0].shape:
            self.tables = [_grown(table, sizes) for table in self.tables]
        self.rows += rows
        if self._key.size != rows:
            self._key = np.empty(rows, dtype=np.int64)
        key, _ = mixed_radix(codes, sizes, rows, out=self._key)
        if not weights:
            np.add.at(self.tables[0].reshape(-1), key, 1.0)
        for table, weight in zip(self.tables, weights, strict=bool(weights)):
            np.add.at(table.reshape(-1), key, weight)


def _grown(table: AnyArray, sizes: Sequence[int]) -> AnyArray:
    """The table in the corner of a larger one."""
    larger = np.zeros(tuple(sizes))
    if table.ndim == len(sizes):
        larger[tuple(slice(0, size) for size in table.shape)] = table
    return larger
