"""The order of a factor's levels: as a reader would write them down."""

import re
from collections.abc import Iterable

ENDLESS = frozenset({"uncapped", "unlimited", "inf", "infinity"})
MULTIPLE = re.compile(r"(?P<number>-?\d+(\.\d+)?)x?\Z")
DIGITS = re.compile(r"(\d+)")


def ordered(labels: Iterable[str]) -> tuple[str, ...]:
    """Distinct labels in reading order: numbers and multiples by size, no limit at all last.

    >>> ordered(["uncapped", "5x", "1.5x", "10x", "1x"])
    ('1x', '1.5x', '5x', '10x', 'uncapped')
    >>> ordered(["task-10", "task-9"])
    ('task-9', 'task-10')
    """
    return tuple(sorted(set(labels), key=_reading_order))


def _reading_order(label: str) -> tuple[int, float, tuple[tuple[int, str], ...], str]:
    if label in ENDLESS:
        return 2, 0.0, (), label
    if match := MULTIPLE.match(label):
        return 0, float(match["number"]), (), label
    # Split at digits, so that "task-10" follows "task-9".
    pieces = tuple((int(p), "") if p.isdigit() else (-1, p) for p in DIGITS.split(label))
    return 1, 0.0, pieces, label
