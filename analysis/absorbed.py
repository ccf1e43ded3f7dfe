"""A design of several factors on cells, with the task x entry strata absorbed.

A cell's trials share one row of the design, so sums over trials are sums over cells, and every
number that follows equals what the same model gives on the trials themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Bools, Floats, Ints
from .cells import STRATUM, Cells

SINGULAR = 1e-9
INVOLVED = 1e-6


@dataclass(frozen=True, slots=True)
class Column:
    """One effect: a level of a factor against the factor's reference level."""

    factor: str
    level: str


@dataclass(frozen=True, eq=False)
class Design:
    """Arrays over C cells, p columns and S strata.

    Args:
        cells: sorted by task and entry; only strata in which some factor varies.
        columns: the effects, linearly independent, p of them.
        centred: X~, each column's indicator less its mean in the stratum; shape (p, C).
        stratum: index of each cell's stratum; shape (C,).
        references: factor -> the level that its effects are measured against.
        aliased: effects that cannot be told from others or from the strata, in the design or not.
        dropped_strata: strata in which no factor varies; they say nothing here.
    """

    cells: Cells
    columns: tuple[Column, ...]
    centred: Floats
    stratum: Ints
    references: Mapping[str, str]
    aliased: frozenset[Column]
    dropped_strata: int

    @cached_property
    def stratum_n(self) -> Floats:
        """Trials per stratum; shape (S,)."""
        return np.bincount(self.stratum, weights=self.cells.n)

    @cached_property
    def gram(self) -> Floats:
        """X~'NX~, sums over trials of products of centred columns; shape (p, p)."""
        return weighted_gram(self.centred, self.cells.n.astype(np.float64))

    @property
    def trials(self) -> int:
        """N, trials of the strata that are kept."""
        return int(self.cells.n.sum())

    @property
    def parameters(self) -> int:
        """K, effects and strata."""
        return len(self.columns) + self.stratum_n.size

    def of(self, factor: str) -> list[int]:
        """Where the factor's columns stand."""
        return [i for i, column in enumerate(self.columns) if column.factor == factor]


def absorb(
    cells: Cells,
    factors: Sequence[str],
    *,
    references: Mapping[str, str] | None = None,
    clusters: Sequence[str] = (),
) -> Design:
    """The design of `factors` within task x entry strata.

    Args:
        references: factor -> reference level; by default the first level that was run.
        clusters: further factors that the cells keep, to cluster by.
    Raises:
        DesignError: a factor that the cells lack, or a reference that was not run.
        SampleTooSmall: no trial, or no stratum in which any factor varies.
    """
    if not factors:
        raise DesignError("name at least one factor to attribute to")
    cells.require_trials()
    kept = dict.fromkeys((*STRATUM, *factors, *clusters))
    merged = cells if set(cells.factors) == set(kept) and _sorted(cells) else cells.by(*kept)
    stratum = _stratum(merged)
    varies = _varies(merged, factors, stratum)
    if not varies.any():
        raise SampleTooSmall(
            f"within no task and entry does {' or '.join(factors)} vary; effects of what differs "
            "only between tasks cannot be told from the tasks"
        )
    inside = merged if varies.all() else merged.where(varies[stratum])
    levels = {name: _levels(inside, name, (references or {}).get(name)) for name in factors}
    columns = [Column(f, level) for f, (_, rest) in levels.items() for level in rest]
    stratum = _stratum(inside)
    centred = _centred(inside, columns, stratum)
    independent, aliased = _rank(centred, inside)
    return Design(
        inside,
        tuple(column for column, free in zip(columns, independent, strict=True) if free),
        centred if independent.all() else centred[independent],
        stratum,
        {name: reference for name, (reference, _) in levels.items()},
        frozenset(column for column, a in zip(columns, aliased, strict=True) if a),
        int(np.count_nonzero(~varies)),
    )


def weighted_gram(centred: Floats, weight: Floats) -> Floats:
    """X~' diag(weight) X~, of a (p, C) array; shape (p, p)."""
    gram: Floats = (centred * weight) @ centred.T
    return gram


def _sorted(cells: Cells) -> bool:
    task, entry = (cells.codes[name] for name in STRATUM)
    key = task * len(cells.levels["entry"]) + entry
    return bool((key[1:] >= key[:-1]).all())


def _stratum(cells: Cells) -> Ints:
    """Stratum indices of cells sorted by task and entry."""
    task, entry = (cells.codes[name] for name in STRATUM)
    new = (task[1:] != task[:-1]) | (entry[1:] != entry[:-1])
    return np.concatenate([[0], np.cumsum(new)]).astype(np.int64)


def _varies(cells: Cells, factors: Sequence[str], stratum: Ints) -> Bools:
    """Per stratum, whether any factor has two levels in it."""
    first = np.searchsorted(stratum, np.arange(stratum[-1] + 1))
    varies = np.zeros(first.size, dtype=np.bool_)
    for name in factors:
        codes = cells.codes[name]
        varies |= np.minimum.reduceat(codes, first) < np.maximum.reduceat(codes, first)
    return varies


def _levels(cells: Cells, factor: str, reference: str | None) -> tuple[str, list[str]]:
    """The reference level and the other levels that were run, in order."""
    occurs = np.bincount(cells.codes[factor], minlength=len(cells.levels[factor])) > 0
    run = [level for level, there in zip(cells.levels[factor], occurs, strict=True) if there]
    if reference is None:
        return run[0], run[1:]
    if reference not in run:
        raise DesignError(
            f"reference {reference!r} of {factor} has no trials to compare with; "
            f"there are: {', '.join(run)}"
        )
    return reference, [level for level in run if level != reference]


def _centred(cells: Cells, columns: Sequence[Column], stratum: Ints) -> Floats:
    centred = np.empty((len(columns), len(cells)))
    shares = {c.factor: _shares(cells, c.factor, stratum) for c in columns}
    for row, column in zip(centred, columns, strict=True):
        level = cells.index(column.factor, column.level)
        np.take(shares[column.factor][level], stratum, out=row)
        np.subtract(cells.codes[column.factor] == level, row, out=row)
    return centred


def _shares(cells: Cells, factor: str, stratum: Ints) -> Floats:
    """Share of each level in each stratum's trials; shape (levels, S)."""
    size, count = len(cells.levels[factor]), int(stratum[-1]) + 1
    key = cells.codes[factor] * count + stratum
    trials = np.bincount(key, weights=cells.n, minlength=size * count).reshape(size, count)
    shares: Floats = trials / trials.sum(axis=0)
    return shares


def _rank(centred: Floats, cells: Cells) -> tuple[Bools, Bools]:
    """Which columns to keep so that none depends on others, and which are not estimable at all.

    A column is estimable if no null vector of the Gram matrix involves it.
    """
    gram = weighted_gram(centred, cells.n.astype(np.float64))
    diagonal = np.diag(gram)
    dead = diagonal <= SINGULAR * cells.n.sum()
    scale = np.sqrt(np.where(dead, 1.0, diagonal))
    correlation = gram / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    aliased = dead | ((vectors[:, values < SINGULAR] ** 2).sum(axis=1) > INVOLVED)
    return _independent(correlation, dead), aliased


def _independent(correlation: Floats, dead: Bools) -> Bools:
    """The columns that add something to those before them."""
    kept: list[int] = []
    for j in np.flatnonzero(~dead):
        beside = correlation[j, kept]
        explained = beside @ np.linalg.solve(correlation[np.ix_(kept, kept)], beside)
        if 1.0 - explained > SINGULAR:
            kept.append(int(j))
    independent = np.zeros(dead.size, dtype=np.bool_)
    independent[kept] = True
    return independent
