"""What counts of cells must be, to be counts of anything."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ..models.errors import DesignError
from .arrays import Floats, Ints


def whole_counts(numbers: ArrayLike) -> Ints:
    """Numbers as 64-bit counts.

    Raises:
        DesignError: one is no whole number.
    """
    counts = np.asarray(numbers)
    whole = counts.astype(np.int64)
    if not np.array_equal(whole, counts):
        raise DesignError("counts must be whole numbers; give fractional rewards as reward_sum")
    return whole


def check_codes(
    levels: Mapping[str, tuple[str, ...]], codes: Mapping[str, Ints], rows: int
) -> None:
    """Refuse codes that do not fit their levels.

    Raises:
        DesignError: names that differ, columns of another length, a code outside its levels.
    """
    if set(levels) != set(codes):
        raise DesignError(f"levels name {sorted(levels)}, but codes name {sorted(codes)}")
    for name, column in codes.items():
        if column.shape != (rows,):
            raise DesignError(f"{name}: {column.size} codes for {rows} cells")
        if rows and not (column.min() >= 0 and column.max() < len(levels[name])):
            raise DesignError(f"{name}: a code lies outside its {len(levels[name])} levels")


def check_counts(n: Ints, passed: Ints, infra: Ints, total: Floats, total_sq: Floats) -> None:
    """Refuse endings, rewards or squares that no trials could have had.

    Raises:
        DesignError: says which.
    """
    if (passed < 0).any() or (infra < 0).any() or (passed + infra > n).any():
        raise DesignError(
            "passed and infra errors are counts of different trials of a cell: none is negative, "
            "and together they are at most n"
        )
    # The slack is for sums of fractions, which round.
    if (total < 0).any() or (total > (n - infra) * (1 + 1e-9) + 1e-9).any():
        raise DesignError("rewards lie in 0..1, and an infra error earns none")
    if (total_sq > total * (1 + 1e-9) + 1e-9).any():
        raise DesignError("squares of rewards in 0..1 cannot sum to more than the rewards")
