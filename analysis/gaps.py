"""Gaps between entries: pairwise on the tasks that both ran, and who is tied with whom.

A leaderboard's question is whether A is above B. The answer here is a gap with both errors, its
bounds whatever the missing outcomes were, and a word for what it exceeds (`credible`).

Source: Miller (2024), arXiv:2411.00640, for paired differences; Holm (1979), Scand J Stat 6:65-70.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from ..models.errors import DesignError
from .cells import Cells
from .contrasts import Contrast, contrast
from .credible import Configurations, Verdict, credible_gap, verdict
from .flags import Flag
from .intervals import Interval
from .missing import Bounds, as_passed, imbens_manski
from .multiplicity import holm
from .scores import score
from .strata import Strata, strata_by_level
from .tails import critical
from .ties import tie_groups


@dataclass(frozen=True, slots=True)
class Gap:
    """Score of entry `a` minus score of entry `b`, on the tasks (and bands) that both ran.

    Fractions throughout. `bounds` hold the gap whatever the missing outcomes were, `bounds_ci` is
    their 95 % interval on these tasks. `matched_new` is the matched threshold for new tasks. A
    number is None where the counts cannot give it; `flags` say why.
    """

    a: str
    b: str
    est: float
    se_same: float | None
    se_new: float | None
    p_same: float | None
    p_new: float | None
    p_holm_same: float | None
    p_holm_new: float | None
    matched: float | None
    matched_new: float | None
    exchangeable: float | None
    worst_case: float | None
    verdict: Verdict
    bounds: Interval
    bounds_ci: Interval | None
    tasks: int
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class GapTable:
    """All pairs, the entries best first, and the groups that cannot be told apart.

    Two entries are apart when their gap is CREDIBLE and its same-task Holm p is below alpha.
    `unpaired` are pairs that share no task (and band): nothing is said of them.
    """

    ranked: tuple[str, ...]
    pairs: tuple[Gap, ...]
    tie_groups: tuple[tuple[str, ...], ...]
    unpaired: tuple[tuple[str, str], ...]


def compare(
    cells: Cells,
    a: str,
    b: str,
    *,
    phi: float = 0.0,
    spread: float = 0.0,
    configurations: Configurations = "exchangeable",
) -> Gap:
    """The gap between two entries, within strata of task and, where there is one, band.

    Args:
        cells: counts by task and entry, and by band if bands were run.
        phi, spread: of the factors that were not matched; see `credible_gap`; fractions.
        configurations: what an unmatched comparison assumes, or "matched" if they are documented.
    Returns: the gap; its Holm p-values equal the plain ones.
    Raises:
        DesignError: no such entry, or cells without task and entry.
        SampleTooSmall: the entries share no task (and band).
    """
    for name in (a, b):
        cells.index("entry", name)
    found = _gap(_tables(cells), a, b, phi, spread, configurations)
    return replace(found, p_holm_same=found.p_same, p_holm_new=found.p_new)


def gaps(
    cells: Cells,
    *,
    phi: float = 0.0,
    spread: float = 0.0,
    configurations: Configurations = "exchangeable",
    alpha: float = 0.05,
) -> GapTable:
    """Gaps of all pairs of entries, the better-scoring one first; arguments as `compare`.

    Raises:
        DesignError: fewer than two entries with trials.
    """
    tables = _tables(cells)
    ranked = _ranked(tables.worst)
    if len(ranked) < 2:
        raise DesignError("a gap needs two entries with trials")
    both = {
        (a, b): bool((tables.worst[a].run & tables.worst[b].run).any())
        for a, b in combinations(ranked, 2)
    }
    pairs = _with_holm(
        [
            _gap(tables, a, b, phi, spread, configurations)
            for (a, b), shared in both.items()
            if shared
        ]
    )
    apart = [
        (g.a, g.b)
        for g in pairs
        if g.verdict == "CREDIBLE" and g.p_holm_same is not None and g.p_holm_same < alpha
    ]
    unpaired = tuple(pair for pair, shared in both.items() if not shared)
    return GapTable(ranked, pairs, tie_groups(ranked, apart), unpaired)


@dataclass(frozen=True, slots=True)
class _Tables:
    """Per entry, tables of task by band: missing outcomes as failures, and as passes."""

    worst: dict[str, Strata]
    best: dict[str, Strata]


def _tables(cells: Cells) -> _Tables:
    turned = rivals(cells)
    return _Tables(strata_by_level(turned, "rival"), strata_by_level(as_passed(turned), "rival"))


def rivals(cells: Cells) -> Cells:
    """The cells with the roles turned: entries are compared, as the factor `rival`; bands are
    averaged over, as the stratum within a task.

    Raises:
        DesignError: cells without task and entry.
    """
    cells.require("task", "entry")
    kept = cells.by("task", "entry", *(["band"] if "band" in cells.factors else []))
    if "band" not in kept.factors:
        kept = kept.constant(band="all")
    roles = {"task": "task", "rival": "entry", "entry": "band"}
    return Cells(
        {role: kept.levels[factor] for role, factor in roles.items()},
        {role: kept.codes[factor] for role, factor in roles.items()},
        kept.n,
        kept.passed,
        kept.infra,
        kept.reward_sum,
        kept.reward_sumsq,
    )


def _ranked(tables: dict[str, Strata]) -> tuple[str, ...]:
    scores = {entry: score(table) for entry, table in tables.items()}
    known = {entry: found.est for entry, found in scores.items() if found is not None}
    return tuple(sorted(known, key=lambda entry: -known[entry]))


def _gap(
    tables: _Tables,
    a: str,
    b: str,
    phi: float,
    spread: float,
    configurations: Configurations,
) -> Gap:
    found = contrast(tables.worst[a], tables.worst[b])
    least = contrast(tables.worst[a], tables.best[b])
    most = contrast(tables.best[a], tables.worst[b])
    se = found.se_same or found.se_new
    limits = credible_gap(se, phi, spread) if se else None
    return Gap(
        a=a,
        b=b,
        est=found.est,
        se_same=found.se_same,
        se_new=found.se_new,
        p_same=found.p_same,
        p_new=found.p_new,
        p_holm_same=None,
        p_holm_new=None,
        matched=limits.matched if limits else None,
        matched_new=_matched_new(found),
        exchangeable=limits.exchangeable if limits else None,
        worst_case=limits.worst_case if limits else None,
        verdict=verdict(found.est, limits, configurations) if limits else "NOISE",
        bounds=Interval(least.est, most.est),
        bounds_ci=_bounds_ci(least, most),
        tasks=found.tasks,
        flags=found.flags,
    )


def _matched_new(found: Contrast) -> float | None:
    return critical(0.975, found.df_new) * found.se_new if found.se_new else None


def _bounds_ci(least: Contrast, most: Contrast) -> Interval | None:
    if least.se_same is None or most.se_same is None:
        return None
    return Interval(*imbens_manski(Bounds(least.est, most.est, least.se_same, most.se_same)))


def _with_holm(pairs: Sequence[Gap]) -> tuple[Gap, ...]:
    same, new = holm([g.p_same for g in pairs]), holm([g.p_new for g in pairs])
    return tuple(
        replace(g, p_holm_same=s, p_holm_new=n) for g, s, n in zip(pairs, same, new, strict=True)
    )
