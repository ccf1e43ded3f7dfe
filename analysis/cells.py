"""Cells: trials collapsed to counts by factor, the one input of every estimator.

A cell is one combination of factor levels. It holds how many trials it had, how many passed, how
many ended as infra errors, and the sum and the sum of squares of their rewards; for rewards of 0
and 1 both sums equal the passes. Nothing that an estimator needs is lost by the collapse.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..models.errors import DesignError, SampleTooSmall
from .arrays import AnyArray, Bools, Floats, Ints
from .counts import check_codes, check_counts, whole_counts
from .grouping import compact, encode, group_sums, mixed_radix
from .noise import noise_of_mean

STRATUM = ("task", "entry")


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Counts per combination of factor levels.

    Args:
        levels: factor name -> its labels, in order; a level need not occur in any cell.
        codes: factor name -> per cell, the index of its level; shape (C,).
        n: trials per cell, infra errors included; shape (C,), every entry 1 or more.
        passed: trials that passed.
        infra: trials that ended as infra errors; they earn no reward and never pass.
        reward_sum: sum of rewards, each in 0..1.
        reward_sumsq: sum of squared rewards.
    Raises:
        DesignError: shapes or counts that contradict each other.
    """

    levels: Mapping[str, tuple[str, ...]]
    codes: Mapping[str, Ints]
    n: Ints
    passed: Ints
    infra: Ints
    reward_sum: Floats
    reward_sumsq: Floats

    def __post_init__(self) -> None:
        check_codes(self.levels, self.codes, self.n.size)
        if (self.n < 1).any():
            raise DesignError("every cell needs at least one trial; leave out empty cells")
        check_counts(*self._columns())

    @classmethod
    def of_counts(
        cls,
        factors: Mapping[str, ArrayLike],
        *,
        n: ArrayLike,
        passed: ArrayLike,
        infra: ArrayLike | None = None,
        reward_sum: ArrayLike | None = None,
        reward_sumsq: ArrayLike | None = None,
        levels: Mapping[str, Sequence[str]] | None = None,
    ) -> "Cells":
        """Cells from one row of counts per combination; rows of the same combination add up.

        Args:
            factors: factor name -> one label per row (anything that `str` makes a label of).
            n, passed, infra: counts per row; a row of n = 0 only declares its labels.
            reward_sum, reward_sumsq: for fractional rewards, both; otherwise both are `passed`.
            levels: the order of a factor's labels, where reading order is not meant.
        Raises:
            DesignError: rows of unequal length, a label that `levels` does not name, impossible
                counts, or a reward sum without its sum of squares.
        """
        if (reward_sum is None) != (reward_sumsq is None):
            raise DesignError(
                "fractional rewards need reward_sum and reward_sumsq, both; without the sum of "
                "squares the noise of a cell is unknown"
            )
        named = levels or {}
        coded = {name: encode(labels, named.get(name), name) for name, labels in factors.items()}
        columns = (
            whole_counts(n),
            whole_counts(passed),
            np.zeros_like(whole_counts(n)) if infra is None else whole_counts(infra),
            np.asarray(passed if reward_sum is None else reward_sum, dtype=np.float64),
            np.asarray(passed if reward_sumsq is None else reward_sumsq, dtype=np.float64),
        )
        return _merged(
            {name: order for name, (_, order) in coded.items()},
            {name: codes for name, (codes, _) in coded.items()},
            columns,
        )

    def __len__(self) -> int:
        return self.n.size

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the factors, in order."""
        return tuple(self.levels)

    @property
    def fractional(self) -> bool:
        """True if any reward was neither 0 nor 1."""
        return not np.array_equal(self.reward_sum, self.reward_sumsq)

    def by(self, *factors: str) -> "Cells":
        """The same trials by fewer factors: counts of merged cells add up, nothing else changes.

        Raises:
            DesignError: no such factor.
        """
        self.require(*factors)
        levels = {name: self.levels[name] for name in factors}
        return _merged(levels, {name: self.codes[name] for name in factors}, self._columns())

    def select(self, **chosen: str | Sequence[str]) -> "Cells":
        """The cells of the chosen level, or levels, of each named factor.

        A chosen factor keeps only the chosen levels, in the order given; other factors keep all.

        Raises:
            DesignError: no such factor, or no such level.

        >>> cells = Cells.of_counts({"band": ["1x", "3x"]}, n=[5, 5], passed=[2, 3])
        >>> cells.select(band="3x").passed.tolist()
        [3]
        """
        levels, codes = dict(self.levels), dict(self.codes)
        kept = np.ones(self.n.size, dtype=np.bool_)
        for name, labels in chosen.items():
            wanted = (labels,) if isinstance(labels, str) else tuple(labels)
            places = [self.index(name, label) for label in wanted]
            recode = np.full(len(self.levels[name]), -1, dtype=np.int64)
            recode[places] = np.arange(len(wanted))
            levels[name], codes[name] = wanted, recode[self.codes[name]]
            kept &= codes[name] >= 0
        return _kept(kept, levels, codes, self._columns())

    def where(self, kept: Bools) -> "Cells":
        """The cells for which `kept` is true; shape (C,)."""
        return _kept(kept, self.levels, self.codes, self._columns())

    def excluded(self) -> "Cells":
        """The same trials without infra errors: they leave n; cells of nothing else vanish."""
        survivors = self.n - self.infra
        rest = (self.passed, np.zeros_like(self.infra), self.reward_sum, self.reward_sumsq)
        return _kept(survivors > 0, self.levels, self.codes, (survivors, *rest))

    def constant(self, **labels: str) -> "Cells":
        """These cells with further factors of one level each, such as entry="all".

        Raises:
            DesignError: a factor of that name exists.
        """
        if taken := sorted(set(labels) & set(self.levels)):
            raise DesignError(f"cells already have the factor {taken[0]!r}; name another")
        levels = {**self.levels, **{name: (label,) for name, label in labels.items()}}
        codes = {**self.codes, **{name: np.zeros_like(self.n) for name in labels}}
        return Cells(levels, codes, *self._columns())

    def strata(self, *factors: str) -> tuple[Ints, int]:
        """Which stratum each cell lies in: indices 0.. without gaps, shape (C,), and their count.

        Strata are the occurring combinations of `factors`, by default of task and entry.
        """
        names = factors or STRATUM
        self.require(*names)
        sizes = [len(self.levels[name]) for name in names]
        key, _ = mixed_radix([self.codes[name] for name in names], sizes, self.n.size)
        return compact(key)

    def rate(self) -> Floats:
        """Mean reward per cell as a fraction, infra errors counted as failures; shape (C,)."""
        return self.reward_sum / self.n

    def noise(self) -> Floats:
        """Unbiased variance of each cell's mean reward; shape (C,).

        `(sumsq/n - mean^2) / (n - 1)`, which for rewards of 0 and 1 is `p(1-p)/(n-1)`.

        Raises:
            SampleTooSmall: a cell of one sample, which shows nothing of its own noise.
        """
        if singles := int(np.count_nonzero(self.n < 2)):
            raise SampleTooSmall(
                f"{singles} of {self.n.size} cells hold one sample and show no noise of their own; "
                "run two or more samples per cell, or merge cells with by(...)"
            )
        return noise_of_mean(self.n, self.reward_sum, self.reward_sumsq)

    def index(self, factor: str, label: str) -> int:
        """The index of a level.

        Raises:
            DesignError: no such factor, or no such level.
        """
        self.require(factor)
        if label not in self.levels[factor]:
            known = ", ".join(self.levels[factor][:12])
            raise DesignError(f"{factor} has no level {label!r}; it has: {known}")
        return self.levels[factor].index(label)

    def require(self, *factors: str) -> None:
        """Refuse what these cells do not have.

        Raises:
            DesignError: a factor is missing; the text names those there are.
        """
        if missing := [name for name in factors if name not in self.levels]:
            raise DesignError(
                f"no factor {missing[0]!r} in these cells; they have: {', '.join(self.levels)}"
            )

    def require_trials(self) -> None:
        """Refuse to make a number of nothing.

        Raises:
            SampleTooSmall: there is no trial.
        """
        if not len(self):
            raise SampleTooSmall("no trial has an outcome yet; there is nothing to analyse")

    def _columns(self) -> tuple[AnyArray, ...]:
        return self.n, self.passed, self.infra, self.reward_sum, self.reward_sumsq


def _merged(
    levels: Mapping[str, tuple[str, ...]],
    codes: Mapping[str, Ints],
    columns: Sequence[AnyArray],
) -> Cells:
    """Cells of rows that may repeat a combination; combinations without a trial are left out."""
    names, sizes, rows = tuple(levels), [len(order) for order in levels.values()], columns[0].size
    if any(column.shape != (rows,) for column in (*codes.values(), *columns)):
        raise DesignError("factors and counts must be columns of one length")
    check_counts(*columns)
    key, slots = mixed_radix([codes[name] for name in names], sizes, rows)
    groups, (n, passed, infra, total, total_sq) = group_sums(key, slots, columns)
    unravelled = np.unravel_index(groups, sizes) if names else ()
    whole = [counts.astype(np.int64) for counts in (n, passed, infra)]
    by_name = {f: np.asarray(c, dtype=np.int64) for f, c in zip(names, unravelled, strict=True)}
    return _kept(n > 0, levels, by_name, (*whole, total, total_sq))


def _kept(
    kept: Bools,
    levels: Mapping[str, tuple[str, ...]],
    codes: Mapping[str, Ints],
    columns: Sequence[AnyArray],
) -> Cells:
    narrowed = {name: column[kept] for name, column in codes.items()}
    return Cells(levels, narrowed, *(column[kept] for column in columns))
