"""Is one set of results better than another, or is it noise? Is it fit to replace it?

The difference is side b minus side a: a is what there is, b what is new. Everything is paired
within tasks. Estimates, errors and intervals are fractions.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..models.errors import SampleTooSmall
from .configuration import ItemCompared, compared, is_matched
from .contrasts import Contrast, contrast
from .credible import CredibleGap, Verdict, credible_gap
from .equivalence import MARGIN, Equivalence, equivalence
from .flags import Flag
from .gate import Gate, Limit, gate
from .intervals import Interval, Rate, rate
from .missing import Bounds, as_passed, imbens_manski
from .scores import Scores, score
from .settling import Settling, settling
from .side import Side
from .sides import A, B, Paired, pair, totals
from .strata import Strata, strata_by_level
from .unmatched import Unmatched
from .words import counted

type Word = Verdict | Literal["UNKNOWN"]


@dataclass(frozen=True, slots=True)
class SideScored:
    """One side on the tasks that both ran; `unended` trials, of all its tasks, have no outcome."""

    name: str
    n: int
    infra_errors: int
    infra_rate: Rate
    score: Scores
    unended: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """b minus a, infra errors as failures; errors and intervals on these tasks and on new ones."""

    est: float
    se_same: float | None
    se_new: float | None
    df_new: int | None
    p_same: float | None
    p_new: float | None
    ci_same: Interval | None
    ci_new: Interval | None
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Credibility:
    """What the difference exceeds.

    `unmatched` is UNKNOWN, and the thresholds but `matched` mean nothing, where no noise budget
    tells what configurations are worth. `word` is the verdict under the configurations as recorded.
    """

    thresholds: CredibleGap | None
    matched: Word
    unmatched: Word
    configurations_match: bool
    word: Word


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` prints.

    `excluded` is the difference with infra errors left out, `bounds` hold it whatever the missing
    outcomes were, `bounds_ci` is their 95 % interval on these tasks. `same_counts`: every task
    counts alike on both sides, which two runs hardly do.
    """

    a: SideScored
    b: SideScored
    difference: Difference
    excluded: Difference | None
    bounds: Interval
    bounds_ci: Interval | None
    equivalence: Equivalence
    credibility: Credibility
    settings: tuple[ItemCompared, ...]
    settling: Settling
    gate: Gate | None
    tasks: int
    same_counts: bool
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    entries: tuple[str, ...]
    bands: tuple[str, ...]


def compare(
    a: Side,
    b: Side,
    *,
    noise: Unmatched | None = None,
    matched: bool | None = None,
    margin: float = MARGIN,
    limit: Limit | None = None,
) -> Comparison:
    """Compare two sides.

    Args:
        noise: what unmatched configurations are worth; None where nobody knows.
        matched: whether the configurations match; by default as they are recorded.
        margin: of equivalence, a fraction.
        limit: how far b may fall behind, to be gated.
    Raises:
        DesignError: the sides cannot be paired by entry.
        SampleTooSmall: they share no task.
    """
    paired = pair(a.cells, b.cells)
    strict, left_out = contrast(*reversed(paired.tables())), _excluded(paired)
    least, most = _bounds(paired)
    settings, missing = compared(a.configuration, b.configuration), _missing_bounds(least, most)
    same = is_matched(settings) if matched is None else matched
    return Comparison(
        a=_scored(a, paired, A),
        b=_scored(b, paired, B),
        difference=_difference(strict),
        excluded=None if left_out is None else _difference(left_out),
        bounds=Interval(least.est, most.est),
        bounds_ci=None if missing is None else Interval(*imbens_manski(missing)),
        equivalence=equivalence(strict, margin),
        credibility=_credibility(strict, noise, same),
        settings=settings,
        settling=settling(strict, margin, _samples(paired)),
        gate=None
        if limit is None
        else gate(limit, strict, left_out, least, most, _not_compared(a, b, paired)),
        tasks=paired.tasks,
        same_counts=_same_counts(*paired.tables()),
        only_a=paired.only_a,
        only_b=paired.only_b,
        entries=paired.entries,
        bands=paired.bands,
    )


def _not_compared(a: Side, b: Side, paired: Paired) -> str:
    """What is not there to be compared, as the begin of a sentence; "" where all is there."""
    alone, unended = len(paired.only_a) + len(paired.only_b), a.unended + b.unended
    told = [f"{counted(alone, 'task')} ran on one side only"] if alone else []
    if unended:
        told.append(f"{counted(unended, 'trial')} without an outcome")
    return " and ".join(told)


def _bounds(paired: Paired) -> tuple[Contrast, Contrast]:
    """b minus a with every missing outcome against b, and with every one for it."""
    worst = paired.tables()
    full = strata_by_level(as_passed(paired.cells), "side")
    best: tuple[Strata, Strata] = full[A], full[B]
    return contrast(worst[1], best[0]), contrast(best[1], worst[0])


def _missing_bounds(least: Contrast, most: Contrast) -> Bounds | None:
    if least.se_same is None or most.se_same is None:
        return None
    return Bounds(least.est, most.est, least.se_same, most.se_same)


def _excluded(paired: Paired) -> Contrast | None:
    try:
        return contrast(*reversed(paired.tables("excluded")))
    except SampleTooSmall:  # every trial of one side was an infra error
        return None


def _difference(found: Contrast) -> Difference:
    return Difference(
        found.est,
        found.se_same,
        found.se_new,
        found.df_new,
        found.p_same,
        found.p_new,
        found.ci_same,
        found.ci_new,
        found.flags,
    )


def _scored(side: Side, paired: Paired, level: str) -> SideScored:
    n, infra = totals(paired.cells)[level]
    which = (A, B).index(level)
    strict, missing = (score(paired.tables(m)[which]) for m in ("strict", "infra"))
    assert strict is not None
    assert missing is not None
    excluded = score(paired.tables("excluded")[which])
    bounds = Interval(strict.est, min(1.0, strict.est + missing.est))
    scores = Scores(strict, excluded, bounds)
    return SideScored(side.name, n, infra, rate(infra, n), scores, side.unended)


def _credibility(found: Contrast, noise: Unmatched | None, matched: bool) -> Credibility:
    se = found.se_same or found.se_new
    if not se:
        return Credibility(None, "UNKNOWN", "UNKNOWN", matched, "UNKNOWN")
    known = noise or Unmatched(0.0, 0.0)
    limits = credible_gap(se, known.phi, known.spread)
    size = abs(found.est)
    same: Word = "CREDIBLE" if size > limits.matched else "NOISE"
    other = same if same == "NOISE" else _unmatched(size, limits, known=noise is not None)
    word: Word = same if matched else "ONLY IF MATCHED" if other == "UNKNOWN" else other
    return Credibility(limits, same, other, matched, word)


def _unmatched(size: float, limits: CredibleGap, *, known: bool) -> Word:
    if not known:
        return "UNKNOWN"
    return "CREDIBLE" if size > limits.exchangeable else "ONLY IF MATCHED"


def _same_counts(a: Strata, b: Strata) -> bool:
    """Every stratum has the same trials and mean, and not all of them ended alike."""
    if not (np.array_equal(a.n, b.n) and np.array_equal(a.mean[a.run], b.mean[b.run])):
        return False
    return bool(np.unique(a.mean[a.run]).size > 1)


def _samples(paired: Paired) -> float:
    """Trials per stratum and side, the harmonic mean over those that both sides ran."""
    a, b = paired.tables()
    shared = a.run & b.run
    inverse = (1.0 / a.n[shared] + 1.0 / b.n[shared]) / 2.0
    return float(1.0 / inverse.mean())
