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

from ..models.errors import DesignError
from .cells import Cells
from .contrasts import contrast
from .intervals import Interval
from .lift_parts import Parts, SplitTables
from .missing import Bounds, as_passed, imbens_manski
from .replayed import Replayed, Replays, replayed
from .strata import strata_by_level


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
    replayed: Replayed | None
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


def split(cells: Cells, band: str, vs: str, replays: Replays | None = None) -> Split:
    """Split the lift of one band over a lower one, over the strata that both ran.

    Args:
        cells: counts by task, entry and band.
        replays: killed trials of `vs` that were run again at `band`.
    Raises:
        DesignError: no such band, or replays of trials that were not killed.
        SampleTooSmall: no task and entry ran both bands, or killed trials without a replay.
    """
    high, low = cells.index("band", band), cells.index("band", vs)
    if high == low:
        raise DesignError(f"a split needs two bands; {band} was named twice")
    tables, best = SplitTables.of(cells, band, vs), strata_by_level(as_passed(cells))
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
        replayed=None if replays is None else replayed(cells, tables, replays),
        monotone=drop.est >= 0.0,
    )


def _interval(bounds: Interval, se_lo: float | None, se_hi: float | None) -> Interval | None:
    if se_lo is None or se_hi is None:
        return None
    return Interval(*imbens_manski(Bounds(bounds.lo, bounds.hi, se_lo, se_hi)))


def _missing_at_random(tables: SplitTables) -> Parts:
    """Killed trials pass as often as the others of their stratum do at the same ceiling.

    By stratum, with k the kill rates and q the pass rates of the trials that were not killed:
    `rescue = (k_0 - k_c) q_c`, `strategy = (1 - k_0) (q_c - q_0)`; they sum to the lift.
    """
    killed, less = tables.infra_low, tables.infra_high
    q_high, q_low = tables.rest_high, tables.rest_low
    drop, gap = killed.mean - less.mean, q_high.mean - q_low.mean
    alive = 1.0 - killed.mean
    return tables.parts(
        rescue=drop * q_high.mean,
        rescue_noise=q_high.mean**2 * (killed.noise + less.noise) + drop**2 * q_high.noise,
        strategy=alive * gap,
        strategy_noise=alive**2 * (q_high.noise + q_low.noise) + gap**2 * killed.noise,
    )
