"""Codes of a column of whole numbers, by a table over the numbers seen: no hash, one look-up."""

import numpy as np

from .arrays import AnyArray, Ints
from .levels import ordered

WIDEST = 1 << 16  # numbers between the least and the greatest; a table of them stays in cache


class IntegerCoder:
    """Codes of one integer column's numbers, in order of first sight.

    Numbers that lie further apart than a small table reaches are searched by bisection.
    """

    def __init__(self, column: str) -> None:
        self.column = column
        self.labels: list[str] = []
        self._known = np.zeros(0, dtype=np.int64)
        self._code = np.zeros(0, dtype=np.int64)
        self._table = np.full(1, -1, dtype=np.int64)
        self._low = self._high = 0
        self._out = np.zeros(0, dtype=np.int64)

    def codes(self, numbers: AnyArray) -> Ints:
        """The code of every row of a batch, one row or more; numbers never seen before are added.

        Returns: an array that the next call overwrites.
        """
        if self._out.size != numbers.size:
            self._out = np.empty(numbers.size, dtype=np.int64)
        low, high = min(self._low, int(numbers.min())), max(self._high, int(numbers.max()))
        if high - low >= WIDEST:
            self._low, self._high = low, high
            return self._searched(numbers)
        if (low, high) != (self._low, self._high):
            self._tabulate(low, high)
        place = numbers if self._low == 0 else np.subtract(numbers, self._low, dtype=np.int64)
        found = np.take(self._table, place, out=self._out, mode="clip")
        if found.min() < 0:
            self._learn(np.unique(numbers[found < 0]))
            self._tabulate(low, high)
            found = np.take(self._table, place, out=self._out, mode="clip")
        return found

    def order(self) -> tuple[tuple[str, ...], Ints]:
        """The labels in reading order, and for each code its index in it."""
        names = ordered(self.labels)
        index = {name: i for i, name in enumerate(names)}
        return names, np.array([index[label] for label in self.labels], dtype=np.int64)

    def _learn(self, fresh: AnyArray) -> None:
        at = len(self.labels)
        self.labels += [str(number) for number in fresh.tolist()]
        known = np.concatenate([self._known, fresh.astype(np.int64)])
        code = np.concatenate([self._code, np.arange(at, at + fresh.size)])
        by_number = np.argsort(known)
        self._known, self._code = known[by_number], code[by_number]

    def _tabulate(self, low: int, high: int) -> None:
        self._low, self._high = low, high
        self._table = np.full(high - low + 1, -1, dtype=np.int64)
        self._table[self._known - low] = self._code

    def _searched(self, numbers: AnyArray) -> Ints:
        fresh = np.setdiff1d(numbers, self._known)
        if fresh.size:
            self._learn(fresh)
        return self._code[np.searchsorted(self._known, numbers)]
