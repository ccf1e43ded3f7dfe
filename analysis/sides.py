"""Two sets of results, side by side: which trials can be compared with which.

Trials are paired within their task; within entries that both sides ran, where either ran several;
and within bands that both ran, where they share any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .cells import Cells
from .strata import Measure, Strata, strata_by_level

A, B = "a", "b"


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """Trials of two sides in strata that both ran; `only_a` and `only_b` are tasks of one alone.

    `cells` have the factors task, entry (the stratum within a task) and side, with levels a and b.
    """

    cells: Cells
    entries: tuple[str, ...]
    bands: tuple[str, ...]
    tasks: int
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    def tables(self, measure: Measure = "strict") -> tuple[Strata, Strata]:
        """Tables of task by stratum, of side a and of side b."""
        tables = strata_by_level(self.cells, "side", measure)
        return tables[A], tables[B]


def pair(a: Cells, b: Cells) -> Paired:
    """Pair two sets of cells by task, and by entry and band where that can be done.

    Raises:
        DesignError: a side has several entries, and the other shares none of them.
        SampleTooSmall: no task was run on both sides.
    """
    entries = _paired_by_entry(a, b)
    bands = tuple(name for name in _levels(a, "band") if name in set(_levels(b, "band")))
    sides = [_narrowed(side, entries, bands) for side in (a, b)]
    tasks = [set(_levels(side, "task")) for side in sides]
    shared = tasks[0] & tasks[1]
    if not shared:
        raise SampleTooSmall(
            "the two sides share no task; results are compared only within tasks that both ran"
        )
    return Paired(
        _stacked(sides[0], sides[1], shared, bool(entries), bool(bands)),
        entries,
        bands,
        len(shared),
        tuple(sorted(tasks[0] - shared)),
        tuple(sorted(tasks[1] - shared)),
    )


def _paired_by_entry(a: Cells, b: Cells) -> tuple[str, ...]:
    """The entries to pair within; () where each side is one entry."""
    mine, theirs = _levels(a, "entry"), _levels(b, "entry")
    if len(mine) == 1 and len(theirs) == 1:
        return ()
    shared = tuple(name for name in mine if name in set(theirs))
    if not shared:
        raise DesignError(
            f"a has the entries {_listed(mine)}, b has {_listed(theirs)}: name one of each, as in "
            "STORE@ENTRY"
        )
    return shared


def _narrowed(cells: Cells, entries: Sequence[str], bands: Sequence[str]) -> Cells:
    if entries:
        cells = cells.select(entry=entries)
    return cells.select(band=bands) if bands else cells


def _stacked(a: Cells, b: Cells, tasks: set[str], by_entry: bool, by_band: bool) -> Cells:
    """Both sides in one, the shared tasks alone."""
    rows: dict[str, list[object]] = {name: [] for name in ("task", "entry", "side")}
    counts: list[list[float]] = [[] for _ in range(5)]
    for name, side in ((A, a), (B, b)):
        small = side.by("task", "entry", "band").select(
            task=sorted(tasks & set(_levels(side, "task")))
        )
        labels = {f: np.asarray(small.levels[f])[small.codes[f]] for f in small.factors}
        for k in range(len(small)):
            stratum = [str(labels["entry"][k])] if by_entry else []
            stratum += [str(labels["band"][k])] if by_band else []
            rows["task"].append(str(labels["task"][k]))
            rows["entry"].append(" | ".join(stratum) or "all")
            rows["side"].append(name)
        columns = (small.n, small.passed, small.infra, small.reward_sum, small.reward_sumsq)
        for column, values in zip(counts, columns, strict=True):
            column += values.tolist()
    n, passed, infra, total, total_sq = counts
    return Cells.of_counts(
        {name: np.asarray(labels) for name, labels in rows.items()},
        n=n,
        passed=passed,
        infra=infra,
        reward_sum=total,
        reward_sumsq=total_sq,
        levels={"side": (A, B)},
    )


def _levels(cells: Cells, factor: str) -> tuple[str, ...]:
    """The levels that have trials."""
    cells.require(factor)
    return tuple(cells.levels[factor][code] for code in sorted(set(cells.codes[factor].tolist())))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def totals(cells: Cells) -> Mapping[str, tuple[int, int]]:
    """Trials and infra errors of each side."""
    sides = {name: cells.select(side=name) for name in (A, B)}
    return {name: (int(s.n.sum()), int(s.infra.sum())) for name, s in sides.items()}
