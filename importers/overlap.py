"""How many trials of a run were under way together: concurrency in force, not as declared."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import NamedTuple

type Span = tuple[float, float] | None
"""Start and end in seconds, None where either is unknown."""


class Neighbours(NamedTuple):
    """Other trials under way at a trial's start, at its peak and at its end; None: unknown."""

    start: int | None = None
    peak: int | None = None
    end: int | None = None


def neighbours(spans: Sequence[Span]) -> list[Neighbours]:
    """The neighbours of every span, in order. Spans are open at their ends: one that ends as
    another starts is no neighbour. Unknown spans have none and are nobody's.

    >>> neighbours([(0, 10), (2, 4), (3, 20), None])[0]
    Neighbours(start=0, peak=2, end=1)
    """
    known = [span for span in spans if span is not None]
    starts, ends = sorted(s for s, _ in known), sorted(e for _, e in known)
    # Under way just after each start; the peak of a span is one of these, or its own start.
    busy = [bisect_right(starts, at) - bisect_right(ends, at) for at in starts]
    highest = _RangeMax(busy)
    return [_of(span, starts, ends, highest) if span else Neighbours() for span in spans]


def _of(
    span: tuple[float, float], starts: list[float], ends: list[float], highest: "_RangeMax"
) -> Neighbours:
    begin, end = span
    if end <= begin:
        return Neighbours()
    at_start = bisect_right(starts, begin) - bisect_right(ends, begin) - 1
    at_end = bisect_left(starts, end) - bisect_left(ends, end) - 1
    first, last = bisect_left(starts, begin), bisect_left(starts, end)
    return Neighbours(at_start, max(at_start, highest.of(first, last) - 1), at_end)


class _RangeMax:
    """Largest number of any slice of a list, each answer in constant time (sparse table)."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self._rows = [list(numbers)]
        while (width := 1 << len(self._rows)) <= len(numbers):
            last = self._rows[-1]
            half = width // 2
            pairs = zip(last, last[half:], strict=False)
            self._rows.append([max(a, b) for a, b in pairs][: len(numbers) - width + 1])

    def of(self, first: int, last: int) -> int:
        """The largest of numbers[first:last], which must not be empty."""
        row = (last - first).bit_length() - 1
        return max(self._rows[row][first], self._rows[row][last - (1 << row)])
