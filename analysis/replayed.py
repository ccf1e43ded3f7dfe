"""Rescue observed: killed trials that were run again at the higher ceiling.

Of a task and entry, with k the share of the floor's trials that were killed and q the mean reward
of their replays, `rescue = k q`; what is left of the lift is strategy. No assumption on what killed
trials are like is made. Infra errors of other causes were not killed and are not rescued.
"""

from dataclasses import dataclass

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Floats, Ints
from .cells import STRATUM, Cells
from .intervals import Interval, around
from .lift_parts import Parts, SplitTables
from .strata import Strata, strata_by_level


@dataclass(frozen=True, slots=True, eq=False)
class Replays:
    """Trials that were killed at a floor, and their second lives at one higher ceiling.

    Args:
        again: by task and entry, n counts the replays, each killed trial once; passed and rewards
            are theirs.
        killed: by task and entry, n counts the killed trials; None: all infra errors of the floor.
    """

    again: Cells
    killed: Cells | None = None


@dataclass(frozen=True, slots=True)
class Replayed(Parts):
    """The split by replay, with 95 % intervals on these tasks, and the counts behind it."""

    rescue_ci: Interval | None
    strategy_ci: Interval | None
    killed: int
    replays: int
    passed: int


def replayed(cells: Cells, tables: SplitTables, replays: Replays) -> Replayed:
    """The unbiased split.

    Where every killed trial was replayed, the rescue rate r is a plain share of the floor's trials,
    with variance r(1-r)/(n-1); fewer replays m scale its second part by killed/m.

    Raises:
        DesignError: replays of trials that were not killed, or never run.
        SampleTooSmall: killed trials of some task and entry without a replay.
    """
    low, n = tables.infra_low, tables.infra_low.n
    again = _table(cells, replays.again)
    killed = np.rint(low.mean * n) if replays.killed is None else _table(cells, replays.killed).n
    if np.any(killed > np.rint(low.mean * n)):
        raise DesignError("more killed trials than infra errors in a stratum")
    if np.any(again.n > killed):
        raise DesignError("more replays than killed trials in a stratum; count each trial once")
    if waiting := int((killed - again.n)[tables.shared & (killed > 0) & ~again.run].sum()):
        raise SampleTooSmall(
            f"{waiting} killed trials without a replay; replay every stratum's kills first"
        )
    found = tables.parts(*_by_stratum(tables, again, killed))
    return Replayed(
        found.rescue,
        found.strategy,
        found.se_rescue_same,
        found.se_rescue_new,
        found.se_strategy_same,
        found.se_strategy_new,
        rescue_ci=_ci(found.rescue, found.se_rescue_same),
        strategy_ci=_ci(found.strategy, found.se_strategy_same),
        killed=int(killed.sum()),
        replays=int(again.n.sum()),
        passed=int(replays.again.passed.sum()),
    )


def _by_stratum(
    tables: SplitTables, again: Strata, killed: Floats | Ints
) -> tuple[Floats, Floats, Floats, Floats]:
    """Rescue, its noise, strategy, its noise; each (tasks, entries)."""
    n = np.maximum(tables.infra_low.n, 1)
    spare = np.maximum(tables.infra_low.n - 1, 1)
    share = killed / n
    rescue = share * again.mean
    left = killed / np.maximum(again.n, 1)
    noise = again.mean**2 * share * (1.0 - share) / spare + (
        rescue * (1.0 - again.mean) / spare * left
    )
    # One floor trial is killed or it passes: its pass and its rescue exclude each other.
    joint = tables.low.mean * rescue / spare
    strategy_noise = tables.high.noise + tables.low.noise + noise - 2.0 * joint
    strategy = tables.high.mean - tables.low.mean - rescue
    return rescue, noise, strategy, np.maximum(strategy_noise, 0.0)


def _table(cells: Cells, counts: Cells) -> Strata:
    """Counts by task and entry, as a table of the tasks and entries of `cells`."""
    lone = counts.by(*STRATUM)
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


def _ci(est: float, se: float | None) -> Interval | None:
    return None if se is None else around(est, se)
