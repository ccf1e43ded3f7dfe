"""Waves: how many a factor needs that is set per wave.

A factor that is set once per wave (concurrency, time of day) is tested between waves, whatever the
number of trials inside them: waves share shocks, and a trial-level test of such a factor raises
false alarms in 8 to 12 % of experiments instead of 5 %.

Source: Fisher (1935), The Design of Experiments; Murray (1998), Design and Analysis of
Group-Randomized Trials, chapter 9.
"""

import math
from dataclasses import dataclass

from scipy import special

from ..models.errors import DesignError
from .tails import critical

FEWEST_WAVES = 8  # halves of 6 have 20 arrangements, so p >= .10; halves of 8 have 70
MOST_WAVES = 100_000  # where the search gives up


@dataclass(frozen=True, slots=True)
class WavePlan:
    """What `waves` waves can say of one wave-level factor.

    `smallest_p` is the smallest two-sided p that re-arranging waves can give for two levels;
    `needed` the number of waves for the asked effect and power, never fewer than 8.
    """

    factor: str
    levels: int
    waves: int
    needed: int
    smallest_p: float
    testable: bool
    reason: str


def smallest_p(waves: int, levels: int = 2) -> float:
    """Smallest two-sided permutation p for a pair of levels of a balanced wave-level factor.

    Only the waves of the two levels can be exchanged: `m` and `n` of them give `C(m+n, m)`
    arrangements; equal halves have a mirror image that is as extreme.

    >>> smallest_p(6)
    0.1
    """
    if levels < 2 or waves < levels:
        raise DesignError(f"{waves} waves for {levels} levels: every level needs a wave")
    fewest, larger = waves // levels, waves // levels + (waves % levels > 0)
    first, second = (larger, fewest) if waves % levels == 1 else (fewest, fewest)
    ways = math.comb(first + second, first)
    return min(1.0, (2 if first == second else 1) / ways)


def wave_power(
    effect: float, per_level: int, sd_wave: float, *, levels: int, alpha: float
) -> float:
    """Power of the t test between the wave means of two levels (pooled over all levels).

    Args:
        effect: true difference between two levels, as a fraction.
        per_level: waves per level, 2 or more.
        sd_wave: SD of a wave's mean: shared shock and sampling together, as a fraction.
    """
    df = levels * (per_level - 1)
    bound, shift = critical(1 - alpha / 2, df), abs(effect) / (sd_wave * math.sqrt(2.0 / per_level))
    inside = special.nctdtr(df, shift, bound) - special.nctdtr(df, shift, -bound)
    return 1.0 - float(inside)


def plan_waves(
    factor: str,
    levels: int,
    waves: int,
    *,
    effect: float,
    sd_shock: float,
    within: float,
    trials_per_wave: int,
    alpha: float = 0.05,
    power: float = 0.80,
) -> WavePlan:
    """Waves that a wave-level factor needs to show `effect`, and whether `waves` can test at all.

    Args:
        effect: difference between two levels, fraction.
        sd_shock: SD of what a wave's trials share, fraction; 0 when nothing is known to be shared.
        within: w = E[p(1-p)], variance of one trial.
        trials_per_wave: trials whose mean is the wave's score.
    Raises: DesignError: a value out of range, or no number of waves up to 100,000 is enough.
    """
    _check(levels, effect, sd_shock, within, trials_per_wave)
    sd_wave = math.sqrt(sd_shock**2 + within / trials_per_wave)
    needed = _needed(levels, effect, sd_wave, alpha, power)
    floor = smallest_p(waves, levels) if waves >= levels else 1.0
    testable = waves >= FEWEST_WAVES and waves >= 2 * levels
    return WavePlan(
        factor, levels, waves, needed, floor, testable, _reason(waves, levels, needed, testable)
    )


def _needed(levels: int, effect: float, sd_wave: float, alpha: float, power: float) -> int:
    """Waves by bisection: power grows with the waves per level."""
    low, high = 1, max(2, math.ceil(FEWEST_WAVES / levels))
    while wave_power(effect, high, sd_wave, levels=levels, alpha=alpha) < power:
        low, high = high, 2 * high
        if high > MOST_WAVES:
            raise DesignError(f"an effect of {100 * effect:.2f} points is out of reach: more than "
                              f"{MOST_WAVES} waves; ask for a larger effect")  # fmt: skip
    while high - low > 1:
        middle = (low + high) // 2
        enough = wave_power(effect, middle, sd_wave, levels=levels, alpha=alpha) >= power
        low, high = (low, middle) if enough else (middle, high)
    return max(FEWEST_WAVES, levels * high)


def _reason(waves: int, levels: int, needed: int, testable: bool) -> str:
    if not testable:
        return f"not testable: {waves} waves, at least {max(FEWEST_WAVES, 2 * levels)} are needed"
    if waves < needed:
        return f"testable, but {needed} waves are needed for the asked effect"
    return "testable"


def _check(levels: int, effect: float, sd_shock: float, within: float, trials: int) -> None:
    if levels < 2:
        raise DesignError(f"a factor with {levels} level has no contrast; give it 2 or more")
    if effect == 0.0 or sd_shock < 0.0 or not 0.0 < within <= 0.25 or trials < 1:
        raise DesignError(
            f"effect {effect} (not 0), sd_shock {sd_shock} (>= 0), within {within} "
            f"(in (0, 0.25]), trials_per_wave {trials} (>= 1): one is out of range"
        )
