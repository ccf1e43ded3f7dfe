"""A leaderboard without ranks: who is above whom with credit, and who is tied.

An entry's place is a range: below everyone that is credibly above it, above everyone that is
credibly below it. Entries that share a letter cannot be told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_lowercase

import numpy as np

from ..models.errors import DesignError
from .cells import Cells
from .configuration import ItemCompared, all_compared
from .credible import Configurations
from .gaps import Gap, GapTable, gaps, rivals
from .intervals import Interval, Rate, rate
from .scores import Scores, score
from .side import Side
from .strata import Strata, strata_by_level
from .unmatched import Unmatched
from .words import counted, listed, points

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Row:
    """One entry. `groups` are the letters of its tie groups, `best` and `worst` its places."""

    entry: str
    groups: str
    best: int
    worst: int
    tasks: int
    n: int
    infra_errors: int
    infra_rate: Rate
    score: Scores


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Rows best first; `sentence` says which neighbouring rows can be told apart.

    `bands` are those within which entries were compared, () where they were merged; `settings` the
    entries' configurations, each item where two are least alike. `noise_known`: what configurations
    are worth was told, so that places allow for it.
    """

    rows: tuple[Row, ...]
    tie_groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Gap, ...]
    unpaired: tuple[tuple[str, str], ...]
    bands: tuple[str, ...]
    configurations: Configurations
    settings: tuple[ItemCompared, ...]
    noise_known: bool
    sentence: str


def leaderboard(
    sides: Sequence[Side],
    *,
    noise: Unmatched | None = None,
    configurations: Configurations = "exchangeable",
) -> Leaderboard:
    """Rank the entries of all sides together.

    Args:
        noise: what unmatched configurations are worth; without it, only sampling counts.
        configurations: what is assumed of configurations that were not matched.
    Raises:
        DesignError: fewer than two entries.
    """
    cells, bands = _together(sides)
    known = noise or Unmatched(0.0, 0.0)
    table = gaps(cells, phi=known.phi, spread=known.spread, configurations=configurations)
    rows = _rows(cells, table)
    return Leaderboard(
        rows=rows,
        tie_groups=table.tie_groups,
        pairs=table.pairs,
        unpaired=table.unpaired,
        bands=bands,
        configurations=configurations,
        settings=all_compared([one for side in sides for one in side.by_entry()]),
        noise_known=noise is not None,
        sentence=f"{_sentence(table)}{_first_place(rows)}",
    )


def _together(sides: Sequence[Side]) -> tuple[Cells, tuple[str, ...]]:
    """All sides in one; entries of one name in two sides are told apart by their side's name."""
    names = [name for side in sides for name in _ran(side.cells, "entry")]
    twice = {name for name in names if names.count(name) > 1}
    labels: dict[str, list[str]] = {"task": [], "entry": [], "band": []}
    counts: list[list[float]] = [[] for _ in range(5)]
    for side in sides:
        cells = side.cells.by("task", "entry", "band")
        for factor, column in labels.items():
            told = [cells.levels[factor][code] for code in cells.codes[factor].tolist()]
            if factor == "entry":
                told = [f"{name} ({side.name})" if name in twice else name for name in told]
            column += told
        columns = (cells.n, cells.passed, cells.infra, cells.reward_sum, cells.reward_sumsq)
        for kept, values in zip(counts, columns, strict=True):
            kept += values.tolist()
    n, passed, infra, total, total_sq = counts
    merged = Cells.of_counts(
        {name: np.asarray(column) for name, column in labels.items()},
        n=n, passed=passed, infra=infra, reward_sum=total, reward_sumsq=total_sq,
    )  # fmt: skip
    ran = {entry: set(_ran(merged.select(entry=entry), "band")) for entry in _ran(merged, "entry")}
    if len({frozenset(bands) for bands in ran.values()}) > 1:
        return merged.by("task", "entry"), ()
    return merged, _ran(merged, "band")


def _ran(cells: Cells, factor: str) -> tuple[str, ...]:
    return tuple(cells.levels[factor][code] for code in sorted(set(cells.codes[factor].tolist())))


def _rows(cells: Cells, table: GapTable) -> tuple[Row, ...]:
    turned = rivals(cells)
    strict, excluded, infra = (
        strata_by_level(turned, "rival", measure) for measure in ("strict", "excluded", "infra")
    )
    above, below = _apart(table)
    letters = _letters(table.tie_groups)
    return tuple(
        Row(
            entry=entry,
            groups=letters[entry],
            best=1 + len(above[entry]),
            worst=len(table.ranked) - len(below[entry]),
            tasks=int(np.count_nonzero(strict[entry].run.any(axis=1))),
            n=int(strict[entry].n.sum()),
            infra_errors=_errors(infra[entry]),
            infra_rate=rate(_errors(infra[entry]), int(strict[entry].n.sum())),
            score=_scores(strict[entry], excluded[entry], infra[entry]),
        )
        for entry in table.ranked
    )


def _errors(infra: Strata) -> int:
    return round(float((infra.mean * infra.n).sum()))


def _scores(strict: Strata, excluded: Strata, infra: Strata) -> Scores:
    told, missing = score(strict), score(infra)
    if told is None or missing is None:
        raise DesignError("an entry without trials has no score")
    bounds = Interval(told.est, min(1.0, told.est + missing.est))
    return Scores(told, score(excluded), bounds)


def _apart(table: GapTable) -> tuple[Mapping[str, set[str]], Mapping[str, set[str]]]:
    """Who is credibly above, and below, each entry."""
    above: dict[str, set[str]] = {entry: set() for entry in table.ranked}
    below: dict[str, set[str]] = {entry: set() for entry in table.ranked}
    for gap in table.pairs:
        if _told_apart(gap):
            high, low = (gap.a, gap.b) if gap.est > 0 else (gap.b, gap.a)
            above[low].add(high)
            below[high].add(low)
    return above, below


def _told_apart(gap: Gap) -> bool:
    """As `tie_groups` are made: credible, and below alpha after Holm on these tasks."""
    return gap.verdict == "CREDIBLE" and gap.p_holm_same is not None and gap.p_holm_same < ALPHA


def _letters(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """The letters of each entry's groups; after z come aa, ab and so on."""
    found: dict[str, list[str]] = {}
    for place, group in enumerate(groups):
        for entry in group:
            found.setdefault(entry, []).append(_letter(place))
    apart = "," if len(groups) > len(ascii_lowercase) else ""
    return {entry: apart.join(letters) for entry, letters in found.items()}


def _letter(place: int) -> str:
    head, last = divmod(place, len(ascii_lowercase))
    return (_letter(head - 1) if head else "") + ascii_lowercase[last]


def _sentence(table: GapTable) -> str:
    """Which neighbouring rows are distinguishable, on these tasks and on new ones."""
    by_pair = {frozenset((gap.a, gap.b)): gap for gap in table.pairs}
    neighbours = [
        (upper, lower, by_pair[frozenset((upper, lower))])
        for upper, lower in pairwise(table.ranked)
        if frozenset((upper, lower)) in by_pair
    ]
    apart = [(upper, lower) for upper, lower, gap in neighbours if _told_apart(gap)]
    new = sum(g.p_holm_new is not None and g.p_holm_new < ALPHA for _, _, g in neighbours)
    many = counted(len(neighbours), "pair of neighbouring rows", "pairs of neighbouring rows")
    if not apart:
        told = f"Of {many}, none can be told apart on these tasks"
    else:
        shown = [f"{upper} above {lower}" for upper, lower in apart[:6]]
        rest = f" and {len(apart) - 6} more" if len(apart) > 6 else ""
        told = f"Of {many}, {len(apart)} can be told apart on these tasks ({listed(shown)}{rest})"
    least = min((gap.matched for gap in table.pairs if gap.matched is not None), default=None)
    needs = "" if least is None else (
        f"; it takes {points(least, signed=False)} points or more even between matched rows"
    )  # fmt: skip
    return f"{told}, {new} on new ones{needs}."


def _first_place(rows: Sequence[Row]) -> str:
    """Whether the handling of missing outcomes decides who leads."""
    told = [row for row in rows if row.score.excluded is not None]
    if not told:
        return ""
    leader = max(told, key=lambda row: row.score.excluded.est if row.score.excluded else 0.0)
    if leader.entry == rows[0].entry:
        return ""
    return (
        " The handling of infra errors decides the first place: with them left out, "
        f"{leader.entry} leads."
    )
