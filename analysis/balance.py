"""Was an assigned factor spread evenly over what else varied? Its labels, shuffled within strata.

Randomisation within task and entry leaves every other factor alike at all levels of the assigned
one, but for chance. The distance from that is measured by the general association statistic of
the stratified table of levels by levels; chance is what shuffling the labels gives.

Source: Landis, Heyman & Koch (1978), Int Stat Rev 46:237-254, for the statistic, as R's
mantelhaen.test of larger tables; Phipson & Smyth (2010) for the added one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .arrays import Floats, Ints
from .cells import STRATUM, Cells
from .factor import Factor
from .grouping import compact, mixed_radix
from .multiplicity import holm
from .tails import chi2_above

DRAWS = 499
MOST_SHUFFLED = 40_000  # trials; beyond, the limit in law is as good and much cheaper
MOST_DF = 300  # the statistic costs their square; a factor of so many levels balances nothing
MOST_SLOTS = 1 << 24
SINGULAR = 1e-9


@dataclass(frozen=True, slots=True)
class Balance:
    """Association of an assigned factor with another one, within task x entry strata.

    Args:
        stat, df: chi-square of general association. p: by `draws` shuffles of the labels, or by
            the chi-square itself where `draws` is 0. p_holm: over all pairs that were tested.
        largest_gap: the largest difference between the share of a level of `beside` at a level
            of `factor` and its share if evenly spread; a fraction.
    """

    factor: str
    beside: str
    stat: float
    df: int
    p: float
    p_holm: float | None
    draws: int
    largest_gap: float


def balance(
    cells: Cells, factors: Sequence[Factor], *, draws: int = DRAWS, seed: int = 0
) -> tuple[Balance, ...]:
    """Test every factor that was assigned per trial against every other one.

    A factor set per wave, or observed, is only ever the other one: its own labels were not
    shuffled within strata. Pairs that no stratum varies in are left out, and such of too many
    levels to tell.

    Args:
        draws: shuffles; 0 for the chi-square. seed: the same seed gives the same p.
    Raises:
        DesignError: a factor that the cells lack.
        SampleTooSmall: no trial.
    """
    cells.require(*STRATUM, *(factor.name for factor in factors))
    cells.require_trials()
    rows = [
        row
        for factor in factors
        if factor.assignment == "trial"
        for row in _of_factor(cells, factor.name, [f.name for f in factors], draws, seed)
    ]
    adjusted = holm([row.p for row in rows])
    return tuple(replace(row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))


def _of_factor(
    cells: Cells, factor: str, names: Sequence[str], draws: int, seed: int
) -> list[Balance]:
    others = [name for name in names if name != factor and _small(cells, factor, name)]
    tables = {name: _Table.of(cells, factor, name) for name in others}
    tested = {name: table for name, table in tables.items() if table.rank > 0}
    shuffles = draws if cells.n.sum() <= MOST_SHUFFLED else 0
    far = dict.fromkeys(tested, 0)
    if tested and shuffles:
        trials = _Trials.of(cells, factor, list(tested))
        rng = np.random.default_rng(seed)
        for _ in range(shuffles):
            for name, count in zip(tested, trials.shuffled(rng), strict=True):
                far[name] += tested[name].of_distance(count) >= tested[name].stat * (1 - SINGULAR)
    return [
        Balance(
            factor=factor,
            beside=name,
            stat=table.stat,
            df=table.rank,
            p=(1 + far[name]) / (1 + shuffles) if shuffles else chi2_above(table.stat, table.rank),
            p_holm=None,
            draws=shuffles,
            largest_gap=table.largest_gap,
        )
        for name, table in tested.items()
    ]


def _small(cells: Cells, factor: str, beside: str) -> bool:
    rows, columns = (compact(cells.codes[name])[1] for name in (factor, beside))
    slots = cells.strata()[1] * rows * columns
    return (rows - 1) * (columns - 1) <= MOST_DF and slots <= MOST_SLOTS


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """Trials by level and level, what even spreading gives, and the inverse of its covariance.

    Args:
        count, expected: shape (I, J), summed over strata.
        inverse: generalised, of the covariance of the first (I - 1)(J - 1) counts.
    """

    count: Floats
    expected: Floats
    inverse: Floats
    rank: int

    @classmethod
    def of(cls, cells: Cells, factor: str, beside: str) -> "_Table":
        """The stratified table, by sums over strata of hypergeometric moments."""
        stratum, strata = cells.strata()
        (a, rows), (b, columns) = (compact(cells.codes[name]) for name in (factor, beside))
        key, slots = mixed_radix([stratum, a, b], [strata, rows, columns], len(cells))
        by = np.bincount(key, weights=cells.n, minlength=slots).reshape(strata, rows, columns)
        n = by.sum(axis=(1, 2))
        share_a, share_b = by.sum(axis=2) / n[:, None], by.sum(axis=1) / n[:, None]
        expected = np.einsum("s,si,sj->ij", n, share_a, share_b)
        # Cov(n_ij, n_kl) = N^2/(N-1) (a_i [i=k] - a_i a_k)(b_j [j=l] - b_j b_l), a and b shares.
        spread = [_spread(share[:, 1:]) for share in (share_a, share_b)]
        weight = np.divide(n * n, n - 1, out=np.zeros_like(n), where=n > 1)
        size = (rows - 1) * (columns - 1)
        covariance = np.einsum("s,sik,sjl->ijkl", weight, *spread).reshape(size, size)
        values, vectors = np.linalg.eigh(covariance)
        kept = values > SINGULAR * max(1.0, float(values.max(initial=0.0)))
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        return cls(by.sum(axis=0), expected, inverse, int(np.count_nonzero(kept)))

    @property
    def stat(self) -> float:
        """General association of the table itself."""
        return self.of_distance(self.count)

    def of_distance(self, count: Floats) -> float:
        """General association of a table of the same margins."""
        distance = (count - self.expected)[1:, 1:].reshape(-1)
        return float(distance @ self.inverse @ distance)

    @property
    def largest_gap(self) -> float:
        """Largest distance of a share from even spreading, over levels of the assigned factor."""
        at = self.expected.sum(axis=1, keepdims=True)
        return float(np.abs((self.count - self.expected) / at).max())


def _spread(share: Floats) -> Floats:
    """diag(w) - ww' by stratum; shape (S, k, k)."""
    k = share.shape[1]
    return share[:, :, None] * np.eye(k) - share[:, :, None] * share[:, None, :]


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """Single trials, sorted by stratum, as shuffling needs them.

    Args:
        stratum: shape (N,). assigned: level of the shuffled factor, shape (N,). others: levels of
            the others with their number of levels.
    """

    stratum: Ints
    assigned: Ints
    levels: int
    others: tuple[tuple[Ints, int], ...]

    @classmethod
    def of(cls, cells: Cells, factor: str, others: Sequence[str]) -> "_Trials":
        """One entry per trial of the cells."""
        stratum, _ = cells.strata()
        order = np.argsort(stratum, kind="stable")
        rows = np.repeat(order, cells.n[order])
        assigned, levels = compact(cells.codes[factor])
        found = [compact(cells.codes[name]) for name in others]
        return cls(stratum[rows], assigned[rows], levels, tuple((c[rows], k) for c, k in found))

    def shuffled(self, rng: np.random.Generator) -> list[Floats]:
        """One table per other factor, after one shuffle of the assigned labels within strata."""
        order = np.argsort(self.stratum + rng.random(self.stratum.size))
        labels = self.assigned[order]
        return [
            np.bincount(labels * count + codes, minlength=self.levels * count)
            .reshape(self.levels, count)
            .astype(np.float64)
            for codes, count in self.others
        ]


def imbalanced(rows: Sequence[Balance], alpha: float = 0.05) -> tuple[Balance, ...]:
    """The pairs that chance does not explain at alpha after Holm's correction."""
    return tuple(row for row in rows if row.p_holm is not None and row.p_holm < alpha)
