"""What an experiment will be able to show, contrast by contrast, before anything is spent.

A contrast between two levels that were randomised per trial has variance `2w/(T M K) + tau2/T`
(`power.Design`). One between levels that are set per wave is tested between waves: a wave's mean
has variance `shock + w/n` with n its trials, whatever else it holds (`waves.wave_power`).

Effects, margins and standard errors are fractions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from scipy.optimize import brentq

from ..models.errors import DesignError
from .equivalence import MARGIN
from .measured import Measured
from .power import Design, detectable_effect, equivalence_power, equivalence_se
from .waves import FEWEST_WAVES, wave_power

POWER = 0.80
WIDEST = 1.0  # no effect on a rate is larger


@dataclass(frozen=True, slots=True)
class PlannedFactor:
    """A factor of the plan and its contrasts.

    Args:
        pairs: (level, level that it is compared with).
        per_sample: what one sample of every cell adds to a level: trials of each task and entry;
            or waves, where the level is set per wave.
        entries: averaged in a contrast; 1 where entries are what is compared.
        trials_per_wave: of one wave, where the level is set per wave; else None.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    per_sample: float
    entries: int = 1
    trials_per_wave: int | None = None


@dataclass(frozen=True, slots=True)
class Prospect:
    """What one contrast of the plan can show; power 80 %, level 5 %.

    Args:
        unit: at which the level is set.
        detectable_same, detectable_new: smallest true effect that is found, on these tasks and on
            others like them; None where tasks' spread is not known, or nothing is ever found.
        margin: asked for. provable: smallest margin within which equivalence is shown if there is
            no effect; None where not testable. samples_needed: of every cell, for `margin`.
        testable: False for levels set per wave with fewer than 8 waves.
    """

    factor: str
    level: str
    vs: str
    unit: Literal["trial", "wave"]
    detectable_same: float | None
    detectable_new: float | None
    margin: float
    provable: float | None
    samples_needed: int
    testable: bool


def prospects(
    tasks: int,
    samples: int,
    factors: Sequence[PlannedFactor],
    noise: Measured,
    margin: float = MARGIN,
) -> tuple[Prospect, ...]:
    """The prospects of every pair of every factor, in their order.

    Args:
        tasks: number of tasks, 1 or more. samples: of every cell, 1 or more.
        margin: of equivalence, fraction, above 0.
    Raises:
        DesignError: a value out of range.
    """
    if tasks < 1 or samples < 1 or not 0.0 < margin < 1.0:
        raise DesignError(
            f"{tasks} tasks and {samples} samples (1 or more), margin {margin} (in (0, 1)): "
            "one is out of range"
        )
    return tuple(
        _between_waves(factor, pair, samples, noise, margin)
        if factor.trials_per_wave
        else _between_trials(tasks, factor, pair, samples, noise, margin)
        for factor in factors
        for pair in factor.pairs
    )


def _between_trials(
    tasks: int,
    factor: PlannedFactor,
    pair: tuple[str, str],
    samples: int,
    noise: Measured,
    margin: float,
) -> Prospect:
    same = Design(tasks, noise.within, factor.entries)
    tau2 = noise.tau2.get(factor.name)
    new = None if tau2 is None else Design(tasks, noise.within, factor.entries, tau2)
    trials = samples * factor.per_sample
    needed = same.samples(equivalence_se(margin, power=POWER), "equivalence")
    return Prospect(
        factor=factor.name,
        level=pair[0],
        vs=pair[1],
        unit="trial",
        detectable_same=detectable_effect(same, trials),
        detectable_new=None if new is None else detectable_effect(new, trials),
        margin=margin,
        provable=_provable(same, trials),
        samples_needed=math.ceil(needed / factor.per_sample),
        testable=True,
    )


def _provable(design: Design, samples: float) -> float:
    """The margin that equivalence is shown within, at no effect, with 80 % power."""
    se = design.se(samples)

    def surplus(margin: float) -> float:
        return equivalence_power(margin, design, samples) - POWER

    return float(brentq(surplus, se, 10.0 * se))


def _between_waves(
    factor: PlannedFactor, pair: tuple[str, str], samples: int, noise: Measured, margin: float
) -> Prospect:
    levels = len({name for pair in factor.pairs for name in pair})
    waves = round(samples * factor.per_sample)
    sd = math.sqrt((noise.shock or 0.0) + noise.within / (factor.trials_per_wave or 1))
    testable = waves >= 2 and waves * levels >= FEWEST_WAVES
    unit = Design(1, 0.25)  # at half a sample its standard error is 1: margins come out in errors
    needed = 2.0 * (sd / equivalence_se(margin, power=POWER)) ** 2
    return Prospect(
        factor=factor.name,
        level=pair[0],
        vs=pair[1],
        unit="wave",
        detectable_same=_detectable(waves, levels, sd) if testable else None,
        detectable_new=None,
        margin=margin,
        provable=sd * math.sqrt(2.0 / waves) * _provable(unit, 0.5) if testable else None,
        samples_needed=math.ceil(max(needed, FEWEST_WAVES / levels) / factor.per_sample),
        testable=testable,
    )


def _detectable(waves: int, levels: int, sd: float) -> float | None:
    """The effect that the t test between wave means finds in four of five runs."""

    def surplus(effect: float) -> float:
        return wave_power(effect, waves, sd, levels=levels, alpha=0.05) - POWER

    top = sd * math.sqrt(2.0 / waves)
    while surplus(top) < 0.0:
        top *= 2.0
    found = float(brentq(surplus, 0.0, top))
    return found if found < WIDEST else None
