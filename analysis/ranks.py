"""Who leads in which band, and which pairs change their order between bands."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from .bands import BandRow
from .cells import Cells

TIED = 1e-9


@dataclass(frozen=True, slots=True)
class Curve:
    """One entry over all bands, as `bands` reports them for it alone."""

    entry: str
    bands: tuple[BandRow, ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """An entry's place in one band, from 1; entries of equal score share the better place."""

    band: str
    entry: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class RankChange:
    """A pair whose order differs between bands: `a` leads most in one, `b` in the other.

    `lead_of_a` and `lead_of_b` are differences of scores as fractions, both above 0; whether they
    are more than noise is for the contrasts to say.
    """

    a: str
    b: str
    a_leads_in: str
    lead_of_a: float
    b_leads_in: str
    lead_of_b: float


def ranks(curves: Sequence[Curve]) -> tuple[Rank, ...]:
    """Every entry's place in every band in which it has a score, band by band, best first."""
    return tuple(
        Rank(band, entry, 1 + sum(other > score + TIED for other in scores.values()), score)
        for band, scores in _scores(curves).items()
        for entry, score in sorted(scores.items(), key=lambda item: -item[1])
    )


def rank_changes(curves: Sequence[Curve]) -> tuple[RankChange, ...]:
    """Pairs of entries of which each leads in some band, in the order of the curves."""
    scores = _scores(curves)
    found = []
    for a, b in combinations([curve.entry for curve in curves], 2):
        leads = {band: s[a] - s[b] for band, s in scores.items() if a in s and b in s}
        if not leads:
            continue
        best, worst = max(leads, key=leads.__getitem__), min(leads, key=leads.__getitem__)
        if leads[best] > TIED and leads[worst] < -TIED:
            found.append(RankChange(a, b, best, leads[best], worst, -leads[worst]))
    return tuple(found)


def _scores(curves: Sequence[Curve]) -> dict[str, dict[str, float]]:
    """Strict scores by band, then entry."""
    scores: dict[str, dict[str, float]] = {}
    for curve in curves:
        for row in curve.bands:
            if row.score is not None:
                scores.setdefault(row.band, {})[curve.entry] = row.score.strict.est
    return scores


def entries_of(cells: Cells) -> tuple[str, ...]:
    """Entries that have trials, in the order of their levels."""
    present = set(cells.codes["entry"].tolist())
    return tuple(name for code, name in enumerate(cells.levels["entry"]) if code in present)
