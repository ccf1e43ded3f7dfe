"""Task by band: what passed where."""

from dataclasses import dataclass

from .cells import Cells


@dataclass(frozen=True, slots=True)
class Tile:
    """One task of one entry in one band; `score` is the mean reward as a fraction, infra errors
    counted as failures."""

    task: str
    entry: str
    band: str
    n: int
    passed: int
    infra_errors: int
    score: float


def heat_map(cells: Cells) -> tuple[Tile, ...]:
    """A tile for every task, entry and band that has trials, in the order of their levels.

    Raises:
        DesignError: the cells lack one of the three.
    """
    names = ("task", "entry", "band")
    small = cells.by(*names)
    labels = [[small.levels[name][code] for code in small.codes[name].tolist()] for name in names]
    counts = (small.n, small.passed, small.infra, small.rate())
    return tuple(Tile(*row) for row in zip(*labels, *(c.tolist() for c in counts), strict=True))
