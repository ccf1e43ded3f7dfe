"""Sums of columns within groups, and the codes that name the groups."""

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from ..models.errors import DesignError
from .arrays import AnyArray, Floats, Ints
from .levels import ordered

# A table of all combinations is summed into directly while it stays this small.
DENSE_SLOTS = 1 << 16
DENSE_SLOTS_PER_ROW = 8


def encode(
    labels: ArrayLike, order: Sequence[str] | None, factor: str
) -> tuple[Ints, tuple[str, ...]]:
    """Labels as indices into their order, which is reading order unless given.

    Raises:
        DesignError: a label that the given order does not name, or an order that repeats one.
    """
    raw, inverse = np.unique(np.asarray(labels), return_inverse=True)
    distinct = [str(label) for label in raw.tolist()]
    named = ordered(distinct) if order is None else tuple(order)
    position = {label: i for i, label in enumerate(named)}
    if len(position) < len(named):
        raise DesignError(f"{factor}: a level is named twice in {', '.join(named)}")
    if unknown := [label for label in distinct if label not in position]:
        raise DesignError(f"{factor}: level {unknown[0]!r} is not among {', '.join(named)}")
    recode = np.array([position[label] for label in distinct], dtype=np.int64)
    return recode[inverse.reshape(-1)], named


def mixed_radix(
    codes: Sequence[Ints], sizes: Sequence[int], rows: int, out: Ints | None = None
) -> tuple[Ints, int]:
    """One index per row out of its indices per factor, row-major, and how many indices there are.

    Args:
        out: an array of as many rows to write to.
    Raises:
        DesignError: more combinations than a 64-bit index can tell apart.
    """
    slots = prod(sizes)
    if slots >= 2**63:
        raise DesignError("too many combinations of levels; collapse by fewer factors at a time")
    key = np.empty(rows, dtype=np.int64) if out is None else out
    key.fill(0)
    for code, size in zip(codes, sizes, strict=True):
        key *= size
        key += code
    return key, slots


def compact(codes: Ints) -> tuple[Ints, int]:
    """The same groups numbered 0.. without gaps, in order, and how many there are."""
    if codes.size == 0:
        return codes, 0
    if codes.max() >= DENSE_SLOTS + DENSE_SLOTS_PER_ROW * codes.size:
        groups, member = np.unique(codes, return_inverse=True)
        return member.reshape(-1), groups.size
    rank = np.cumsum(np.bincount(codes) > 0) - 1
    return rank[codes], int(rank[-1]) + 1


def group_sums(key: Ints, slots: int, columns: Sequence[AnyArray]) -> tuple[Ints, list[Floats]]:
    """The group indices that occur, ascending, and each column's sum within them."""
    if slots > DENSE_SLOTS + DENSE_SLOTS_PER_ROW * key.size:
        groups, member = np.unique(key, return_inverse=True)
        return groups, [np.bincount(member, weights=c, minlength=groups.size) for c in columns]
    groups = np.flatnonzero(np.bincount(key, minlength=slots))
    return groups, [np.bincount(key, weights=c, minlength=slots)[groups] for c in columns]
