"""A lift between two ceilings, split into rescued kills and changed strategies.

A higher ceiling lifts a score in two ways: trials that were killed now end (rescue), and trials
that were never killed are solved otherwise (strategy). With monotone kills (what is killed at the
high ceiling is killed at the low one too), with L the lift and D the drop of infra errors,

    rescue in [0, D],    strategy = L - rescue in [L - D, L],

and no assumption on the killed trials narrows this. Re-running every killed trial at the high
ceiling (kill replay) observes rescue itself: it is P(killed at the floor, passed on replay).

Source: Frangakis & Rubin (2002), Biometrics 58:21-29, principal stratification.
"""

from dataclasses import dataclass

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Bools, Floats
from .cells import STRATUM, Cells
from .contrasts import contrast, spread_of_mean
from .intervals import Interval
from .missing import Bounds, as_passed, imbens_manski
from .strata import Strata, strata_by_level


@dataclass(frozen=True, slots=True)
class Parts:
    """A point for both parts with standard errors (same tasks, new tasks), as fractions."""

    rescue: float
    strategy: float
    se_rescue_same: float | None
    se_rescue_new: float | None
    se_strategy_same: float | None
    se_strategy_new: float | None


@dataclass(frozen=True, slots=True)
class Split:
    """The lift of `band` over `vs` in two parts; fractions.

    `rescue` and `strategy` are the sharp bounds, `*_ci` their 95 % Imbens-Manski intervals on these
    tasks. `mar` takes killed trials to be like the others of their task, which leans to rescue:
    killed trials are worse than average. `replayed` is unbiased; None without a replay. `monotone`
    is False when errors did not drop, so that the bounds' assumption does not fit.
    """

    band: str
    vs: str
    lift: float
    error_drop: float
    rescue: Interval
    strategy: Interval
    rescue_ci: Interval | None
    strategy_ci: Interval | None
    mar: Parts
    replayed: Parts | None
    monotone: bool


def split_bounds(lift: float, error_drop: float) -> tuple[Interval, Interval]:
    """Sharp bounds (rescue, strategy) of a lift, given the drop of the infra error rate.

    Any unit, the same for both. A drop below 0 leaves nothing to rescue.

    >>> rescue, strategy = split_bounds(lift=6.0, error_drop=5.3)
    >>> print(f"{rescue.lo:.1f}..{rescue.hi:.1f} and {strategy.lo:.1f}..{strategy.hi:.1f}")
    0.0..5.3 and 0.7..6.0
    """
    most = max(0.0, error_drop)
    return Interval(0.0, most), Interval(lift - most, lift)


def split(cells: Cells, band: str, vs: str, replays: Cells | None = None) -> Split:
    """Split the lift of one band over a lower one, over the strata that both ran.

    Args:
        cells: counts by task, entry and band.
        replays: killed trials of `vs` that were run again at `band`, by task and entry: n counts
            the replays (each killed trial once), passed those that passed.
    Raises:
        DesignError: no such band, or replays of trials that were not killed.
        SampleTooSmall: no task and entry ran both bands, or killed trials without a replay.
    """
    high, low = cells.index("band", band), cells.index("band", vs)
    if high == low:
        raise DesignError(f"a split needs two bands; {band} was named twice")
    tables, best = _Tables.of(cells, band, vs), strata_by_level(as_passed(cells))
    lift, drop = contrast(tables.high, tables.low), contrast(tables.infra_low, tables.infra_high)
    least = contrast(best[band], best[vs])  # L - D: what is left when no kill would have passed
    rescue, strategy = split_bounds(lift.est, drop.est)
    return Split(
        band=band,
        vs=vs,
        lift=lift.est,
        error_drop=drop.est,
        rescue=rescue,
        strategy=strategy,
        rescue_ci=_interval(rescue, 0.0, drop.se_same),
        strategy_ci=_interval(strategy, least.se_same, lift.se_same),
        mar=_missing_at_random(tables),
        replayed=None if replays is None else _replay(tables, _replay_table(cells, replays)),
        monotone=drop.est >= 0.0,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Tables:
    """Scores, infra errors, and scores of what was not killed, at both bands."""

    high: Strata
    low: Strata
    infra_high: Strata
    infra_low: Strata
    rest_high: Strata
    rest_low: Strata

    @classmethod
    def of(cls, cells: Cells, band: str, vs: str) -> "_Tables":
        scores, infra, rest = (
            strata_by_level(cells, measure=measure) for measure in ("strict", "infra", "excluded")
        )
        return cls(scores[band], scores[vs], infra[band], infra[vs], rest[band], rest[vs])

    @property
    def shared(self) -> Bools:
        """Strata that ran both bands."""
        return self.high.run & self.low.run

    @property
    def singles(self) -> bool:
        """True if a cell of one sample shows no noise of its own."""
        return bool(np.any(self.shared & ((self.high.n < 2) | (self.low.n < 2))))


def _replay_table(cells: Cells, replays: Cells) -> Strata:
    """The replays, as a table of the same tasks and entries."""
    lone = replays.by(*STRATUM)
    for factor in STRATUM:
        if strange := set(lone.levels[factor]) - set(cells.levels[factor]):
            raise DesignError(f"replays of {factor} {min(strange)!r}, which was never run")
    codes = {
        factor: np.array([cells.index(factor, label) for label in lone.levels[factor]], np.int64)[
            lone.codes[factor]
        ]
        for factor in STRATUM
    }
    levels = {factor: cells.levels[factor] for factor in STRATUM}
    moved = Cells(
        levels, codes, lone.n, lone.passed, lone.infra, lone.reward_sum, lone.reward_sumsq
    )
    return strata_by_level(moved.constant(replay="all"), "replay")["all"]


def _interval(bounds: Interval, se_lo: float | None, se_hi: float | None) -> Interval | None:
    if se_lo is None or se_hi is None:
        return None
    return Interval(*imbens_manski(Bounds(bounds.lo, bounds.hi, se_lo, se_hi)))


def _missing_at_random(tables: _Tables) -> Parts:
    """Killed trials pass as often as the others of their stratum do at the same ceiling.

    By stratum, with k the kill rates and q the pass rates of the trials that were not killed:
    `rescue = (k_0 - k_c) q_c`, `strategy = (1 - k_0) (q_c - q_0)`; they sum to the lift.
    """
    killed, less = tables.infra_low, tables.infra_high
    q_high, q_low = tables.rest_high, tables.rest_low
    drop, gap = killed.mean - less.mean, q_high.mean - q_low.mean
    alive = 1.0 - killed.mean
    return _parts(
        tables,
        rescue=drop * q_high.mean,
        rescue_noise=q_high.mean**2 * (killed.noise + less.noise) + drop**2 * q_high.noise,
        strategy=alive * gap,
        strategy_noise=alive**2 * (q_high.noise + q_low.noise) + gap**2 * killed.noise,
    )


def _replay(tables: _Tables, again: Strata) -> Parts:
    """By stratum `rescue = k_0 q`, q the pass rate on replay.

    Where every killed trial was replayed, the rescue rate r is a plain share of the floor's trials,
    with variance r(1-r)/(n-1); fewer replays m scale its second part by killed/m.
    """
    low, n = tables.infra_low, tables.infra_low.n
    killed = np.rint(low.mean * n)
    if np.any(tables.shared & (killed > 0) & ~again.run):
        raise SampleTooSmall("killed trials without a replay; replay every stratum's kills first")
    if np.any(again.n > killed):
        raise DesignError("more replays than killed trials in a stratum; count each trial once")
    rescue, spare = low.mean * again.mean, np.maximum(n - 1, 1)
    left = killed / np.maximum(again.n, 1)
    noise = again.mean**2 * low.noise + rescue * (1.0 - again.mean) / spare * left
    # One floor trial is killed or it passes: its pass and its rescue exclude each other.
    joint = tables.low.mean * rescue / spare
    strategy_noise = tables.high.noise + tables.low.noise + noise - 2.0 * joint
    strategy = tables.high.mean - tables.low.mean - rescue
    return _parts(tables, rescue, noise, strategy, np.maximum(strategy_noise, 0.0))


def _parts(
    tables: _Tables,
    rescue: Floats,
    rescue_noise: Floats,
    strategy: Floats,
    strategy_noise: Floats,
) -> Parts:
    """Means over entries, then over tasks, with both errors; arguments are (tasks, entries)."""
    (first, first_same, first_new) = _mean(tables, rescue, rescue_noise)
    (second, second_same, second_new) = _mean(tables, strategy, strategy_noise)
    return Parts(first, second, first_same, first_new, second_same, second_new)


def _mean(
    tables: _Tables, values: Floats, noise: Floats
) -> tuple[float, float | None, float | None]:
    entries = tables.shared.sum(axis=1)
    kept = entries > 0
    by_task = np.where(tables.shared, values, 0.0).sum(axis=1)[kept] / entries[kept]
    by_noise = np.where(tables.shared, noise, 0.0).sum(axis=1)[kept] / entries[kept] ** 2
    same = None if tables.singles else float(np.sqrt(by_noise.sum())) / by_task.size
    return float(by_task.mean()), same, spread_of_mean(by_task)
