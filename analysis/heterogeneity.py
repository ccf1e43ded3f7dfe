"""Whether entries answer to a band alike: differences in differences, and flips of rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..models.errors import SampleTooSmall
from .arrays import Floats
from .cells import Cells
from .contrasts import Contrast, contrast
from .intervals import BOOTSTRAP_DRAWS, task_weights
from .multiplicity import holm
from .strata import Strata, strata_by_level


@dataclass(frozen=True, slots=True)
class Difference:
    """Lift of entry a less lift of entry b, band over reference, within tasks.

    `p_holm_*` are adjusted over the pairs of entries at this band.
    """

    a: str
    b: str
    band: str
    vs: str
    lift: Contrast
    p_holm_same: float | None
    p_holm_new: float | None


@dataclass(frozen=True, slots=True)
class RankFlip:
    """How often the order of two entries differs between two bands, over resampled tasks.

    Args:
        gaps: score of a minus score of b, as fractions, at each of the bands.
        probability: of opposite signs; None with one task.
    """

    a: str
    b: str
    bands: tuple[str, str]
    gaps: tuple[float, float]
    probability: float | None


@dataclass(frozen=True, slots=True)
class Heterogeneity:
    """Model x band: empty where fewer than two entries or two bands share tasks."""

    differences: tuple[Difference, ...]
    flips: tuple[RankFlip, ...]


def heterogeneity(
    cells: Cells,
    reference: str | None = None,
    *,
    factor: str = "band",
    draws: int = BOOTSTRAP_DRAWS,
    seed: int = 0,
) -> Heterogeneity:
    """Differences in differences of every pair of entries, and their rank flips between bands.

    Args:
        reference: the level that lifts are taken against, by default the first.
        draws, seed: of the bootstrap over tasks.
    Raises:
        DesignError: the cells lack task, entry or the factor, or the reference is no level of it.
    """
    tables = strata_by_level(cells, factor)
    if not tables:
        return Heterogeneity((), ())
    floor = cells.levels[factor][0 if reference is None else cells.index(factor, reference)]
    entries = cells.levels["entry"]
    differences = [
        row
        for band in tables
        if band != floor
        for row in _differences(tables[band], tables[floor], entries, (band, floor))
    ]
    flips = [
        flip
        for pair in combinations(tables, 2)
        for i, j in combinations(range(len(entries)), 2)
        if (flip := _flip(tables, pair, (i, j), entries, draws, seed)) is not None
    ]
    return Heterogeneity(tuple(differences), tuple(flips))


def _differences(
    band: Strata, floor: Strata, entries: Sequence[str], names: tuple[str, str]
) -> list[Difference]:
    """All pairs at one band, with Holm over the pairs."""
    lifts = [_lift(band, floor, column) for column in range(len(entries))]
    found: list[tuple[int, int, Contrast]] = []
    for i, j in combinations(range(len(entries)), 2):
        try:
            found.append((i, j, contrast(lifts[i], lifts[j])))
        except SampleTooSmall:  # the two share no task at both levels
            continue
    same = holm([lift.p_same for _, _, lift in found])
    new = holm([lift.p_new for _, _, lift in found])
    return [
        Difference(entries[i], entries[j], *names, lift, p_same, p_new)
        for (i, j, lift), p_same, p_new in zip(found, same, new, strict=True)
    ]


def _lift(band: Strata, floor: Strata, column: int) -> Strata:
    """One entry's lift by task, as a table of one column."""
    at = slice(column, column + 1)
    return Strata(
        np.minimum(band.n, floor.n)[:, at],
        (band.mean - floor.mean)[:, at],
        (band.noise + floor.noise)[:, at],
    )


def _flip(
    tables: Mapping[str, Strata],
    bands: tuple[str, str],
    pair: tuple[int, int],
    entries: Sequence[str],
    draws: int,
    seed: int,
) -> RankFlip | None:
    i, j = pair
    kept = np.logical_and.reduce([tables[band].run[:, k] for band in bands for k in pair])
    if not kept.any():
        return None
    first, second = (tables[band].mean[kept, i] - tables[band].mean[kept, j] for band in bands)
    gaps = float(first.mean()), float(second.mean())
    probability = _opposite(first, second, draws, seed) if first.size > 1 else None
    return RankFlip(entries[i], entries[j], bands, gaps, probability)


def _opposite(first: Floats, second: Floats, draws: int, seed: int) -> float:
    """Share of resampled task sets in which the two mean gaps have opposite signs."""
    weights = task_weights(first.size, draws, seed)
    return float(np.mean((weights @ first) * (weights @ second) < 0.0))
