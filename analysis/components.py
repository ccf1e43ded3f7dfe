"""Variance components of a balanced grid on the probability scale, noise subtracted.

Finite population: these tasks, these entries, these bands. Superpopulation: random effects, by
expected mean squares. Both store what they find: a component may come out below 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats, Ints
from .cells import Cells
from .flags import Flag
from .grouping import mixed_radix
from .noise import noise_of_mean

FACTORS = ("task", "entry", "band")


@dataclass(frozen=True, slots=True)
class Finite:
    """Components of these levels: variances on the probability scale, by effect.

    Args:
        plug_in: mean squared effect, sampling noise included.
        corrected: the same without noise, unbiased; None where cells of one sample show no noise.
        within: mean variance of a trial within its cell, E[p(1-p)]; None likewise.
        total: variance of a trial of the whole grid, the sum of `corrected` and `within`.
        noise: mean over cells of the variance of a cell's mean; None likewise.
    """

    plug_in: Mapping[str, float]
    corrected: Mapping[str, float] | None
    within: float | None
    total: float | None
    noise: float | None = None


@dataclass(frozen=True, slots=True)
class Components:
    """Both kinds; `super` is None where noise is unknown, and its `residual` is `finite.within`."""

    finite: Finite
    super: Mapping[str, float] | None
    tasks: int
    flags: tuple[Flag, ...] = ()


def components(cells: Cells, factors: Sequence[str] = FACTORS) -> Components:
    """Components of every effect and interaction of `factors`, keys such as "task:band".

    With a_A the centred interaction array of effect A over N cells, df_A its degrees of freedom:
    `plug_A = mean(a_A^2)`, `phi_A = plug_A - df_A mean(v)/N`,
    `within = mean(n/(n-1) p(1-p))`, and the sum of all phi and `within` is the variance of a
    trial. Cells may differ in n. Tasks that lack a combination of the other factors are left out
    and flagged; factors of one level have no effects.

    Raises:
        DesignError: the cells lack a factor.
        SampleTooSmall: no trial, no factor with two levels, or no task with every combination of
            the others.
    Source: Cornfield & Tukey (1956), Ann Math Stat 27:907-949; statistics.md 3.1.
    """
    merged = cells.by(*factors)
    merged.require_trials()
    grid = _complete(merged, factors)
    effects = _effects(grid.mean, grid.varying)
    plug_in = {key: float(np.mean(a * a)) for key, a in effects.items()}
    if grid.noise is None:
        return Components(
            Finite(plug_in, None, None, None),
            None,
            grid.tasks,
            (*grid.flags, Flag.SINGLE_SAMPLES),
        )
    size, noise = grid.mean.size, float(grid.noise.mean())
    df = {key: _df(key, grid.varying) for key in effects}
    corrected = {key: plug_in[key] - df[key] * noise / size for key in effects}
    within = float((grid.n * grid.noise).mean())
    total = sum(corrected.values()) + within
    mean_squares = {key: size * plug_in[key] / df[key] for key in effects}
    return Components(
        Finite(plug_in, corrected, within, total, noise),
        {**_random(mean_squares, noise, grid.varying), "residual": within},
        grid.tasks,
        grid.flags,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """Means and noise over the factors that vary, one axis each."""

    n: Floats
    mean: Floats
    noise: Floats | None
    varying: Mapping[str, int]
    tasks: int
    flags: tuple[Flag, ...]


def _complete(cells: Cells, factors: Sequence[str]) -> _Grid:
    """The grid of the first factor's levels that have every combination of the others."""
    codes, sizes = _without_gaps(cells, factors)
    key, slots = mixed_radix(codes, sizes, len(cells))
    columns = (cells.n, cells.reward_sum, cells.reward_sumsq)
    n, total, total_sq = (
        np.bincount(key, weights=c, minlength=slots).reshape(sizes) for c in columns
    )
    complete = (n > 0).reshape(sizes[0], -1).all(axis=1)
    if not complete.any():
        raise SampleTooSmall(
            f"no {factors[0]} was run at every combination of {', '.join(factors[1:])}; "
            "components need a complete grid: select(...) the levels that were run throughout"
        )
    kept = int(np.count_nonzero(complete))
    shape = {f: s for f, s in zip(factors, (kept, *sizes[1:]), strict=True) if s > 1}
    if not shape:
        raise SampleTooSmall("no factor has two levels; there is nothing to split")
    n, total, total_sq = (a[complete].reshape(tuple(shape.values())) for a in (n, total, total_sq))
    known = bool((n > 1).all())
    return _Grid(
        n,
        total / n,
        noise_of_mean(n.astype(np.int64), total, total_sq) if known else None,
        shape,
        kept,
        () if complete.all() else (Flag.INCOMPLETE,),
    )


def _without_gaps(cells: Cells, factors: Sequence[str]) -> tuple[list[Ints], list[int]]:
    """Codes and sizes without the levels that have no cell: an empty band takes no task away."""
    found = [np.unique(cells.codes[name], return_inverse=True) for name in factors]
    return [codes.reshape(-1) for _, codes in found], [levels.size for levels, _ in found]


def _effects(mean: Floats, varying: Mapping[str, int]) -> dict[str, Floats]:
    """Centred arrays of every effect, main effects first; axes that an effect lacks have size 1."""
    names = list(varying)
    effects: dict[str, Floats] = {}
    for order in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), order):
            array = mean.mean(axis=tuple(set(range(len(names))) - set(chosen)), keepdims=True)
            for axis in chosen:
                array = array - array.mean(axis=axis, keepdims=True)
            effects[":".join(names[axis] for axis in chosen)] = array
    return effects


def _df(key: str, varying: Mapping[str, int]) -> int:
    return prod(varying[name] - 1 for name in key.split(":"))


def _random(
    mean_squares: Mapping[str, float], noise: float, varying: Mapping[str, int]
) -> dict[str, float]:
    """Random-effects components by expected mean squares, from the highest interaction down."""
    found: dict[str, float] = {}
    for key in sorted(mean_squares, key=lambda k: -k.count(":")):
        above = sum(
            variance * _replicates(wider, varying)
            for wider, variance in found.items()
            if set(key.split(":")) < set(wider.split(":"))
        )
        found[key] = (mean_squares[key] - noise - above) / _replicates(key, varying)
    return {key: found[key] for key in mean_squares}


def _replicates(key: str, varying: Mapping[str, int]) -> int:
    """How many cells share one level of the effect."""
    return prod(size for name, size in varying.items() if name not in key.split(":"))
