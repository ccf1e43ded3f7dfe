"""What a design can see before it is run: detectable effects, power, and sample sizes.

One contrast between two bands at `tasks` x `entries` x `samples` trials a band has variance

    2 w / (T M K) + tau2 / T

with w = E[p(1-p)] the within-cell variance of one trial and tau2 the variance of the effect
between tasks. tau2 = 0 answers "on these tasks", tau2 > 0 answers "on new tasks". Effects, margins
and standard errors are fractions (0.03 is 3 points), as are w and tau2.

Source: Miller (2024), arXiv:2411.00640, section 5, with the binomial variance within cells in place
of the total variance; Chow, Shao & Wang (2008), Sample Size Calculations, section 3.2.
"""

import math
from dataclasses import dataclass

from scipy.optimize import brentq

from ..models.errors import DesignError
from .tails import below, critical

MOST_WITHIN = 0.25  # the largest variance of a reward in 0..1


@dataclass(frozen=True, slots=True)
class Design:
    """What enters the variance of one band contrast.

    Args:
        tasks: T, number of tasks, 1 or more.
        within: w = E[p(1-p)], variance of one trial around its cell's rate, in (0, 0.25].
        entries: M, entries that are averaged in the contrast, 1 or more.
        tau2: variance between tasks of the effect, 0 for "these tasks".
    Raises: DesignError: a value outside these ranges.
    """

    tasks: int
    within: float
    entries: int = 1
    tau2: float = 0.0

    def __post_init__(self) -> None:
        if self.tasks < 1 or self.entries < 1:
            raise DesignError(
                f"{self.tasks} tasks x {self.entries} entries: need 1 or more of each"
            )
        if not 0.0 < self.within <= MOST_WITHIN:
            raise DesignError(f"within-cell variance {self.within}: must lie in (0, 0.25]")
        if not 0.0 <= self.tau2 < math.inf:
            raise DesignError(
                f"tau2 {self.tau2}: must be 0 or more; pass 0 when its estimate is below"
            )

    def se(self, samples: float) -> float:
        """Standard error of the contrast at `samples` trials per cell."""
        if not 0.0 < samples < math.inf:
            raise DesignError(f"{samples} samples per cell: need more than 0")
        return math.sqrt(2.0 * self.within / (self.tasks * self.entries * samples) + self._floor)

    def samples(self, se: float, asked: str) -> float:
        """Trials per cell that reach the standard error `se`; not rounded.

        Raises: DesignError: more samples cannot reach it, since tasks differ too much.
        """
        room = se**2 - self._floor
        if room <= 0.0:
            raise DesignError(
                f"{asked}: no number of samples is enough, tasks differ in the effect by "
                f"{100 * math.sqrt(self.tau2):.1f} points (SD); add tasks to the {self.tasks}"
            )
        return 2.0 * self.within / (self.tasks * self.entries * room)

    @property
    def _floor(self) -> float:
        return self.tau2 / self.tasks


def detectable_effect(
    design: Design, samples: float, *, alpha: float = 0.05, power: float = 0.80
) -> float:
    """Smallest true lift that a two-sided z test finds with the given power, as a fraction.

    `(z_{1-alpha/2} + z_power) * SE`; 2.80 SE at the defaults.

    Raises: DesignError: alpha or power outside (0, 1).
    Source: Bloom (1995), Evaluation Review 19:547-556.

    >>> print(f"{100 * detectable_effect(Design(tasks=89, within=0.095), samples=10):.2f} points")
    4.09 points
    """
    return _reach(alpha / 2, power) * design.se(samples)


def contrast_power(effect: float, design: Design, samples: float, *, alpha: float = 0.05) -> float:
    """Power of a two-sided z test of a contrast whose true lift is `effect`; both tails counted.

    >>> print(f"{contrast_power(0.02, Design(tasks=89, within=0.095), samples=20):.3f}")
    0.490
    """
    _check_rates(alpha, 0.5)
    shift, bound = abs(effect) / design.se(samples), critical(1 - alpha / 2)
    return below(shift - bound) + below(-shift - bound)


def samples_for_effect(
    effect: float, design: Design, *, alpha: float = 0.05, power: float = 0.80
) -> float:
    """Samples per cell at which `effect` is the detectable effect; not rounded.

    Raises: DesignError: the effect is 0, or tau2 alone is already too much for this many tasks.
    """
    if effect == 0.0:
        raise DesignError("an effect of 0 points cannot be detected; ask for an equivalence margin")
    return design.samples(
        abs(effect) / _reach(alpha / 2, power), f"to detect {100 * abs(effect):.2f} points"
    )


def equivalence_power(
    margin: float, design: Design, samples: float, *, lift: float = 0.0, alpha: float = 0.05
) -> float:
    """Probability that TOST shows |lift| < margin: `Phi(a) + Phi(b) - 1`, not below 0.

    With `a, b = (margin -+ lift)/SE - z_{1-alpha}`, normal approximation.

    Source: Schuirmann (1987), J Pharmacokinet Biopharm 15:657-680.
    """
    _check_margin(margin, lift, alpha)
    return _tost_power(margin, lift, design.se(samples), alpha)


def samples_for_equivalence(
    margin: float, design: Design, *, lift: float = 0.0, alpha: float = 0.05, power: float = 0.90
) -> float:
    """Samples per cell for TOST to show equivalence within `margin` at a true `lift`; not rounded.

    The exact root of `equivalence_power`. The closed form `2 w (z_{1-alpha} + z)^2 / (T M (margin -
    |lift|)^2)` brackets it: with `z = z_power` from below (all but equal once |lift| is a fifth of
    the margin), with `z = z_{(1+power)/2}` from above (equal at lift 0).

    Raises: DesignError: |lift| is not below the margin, or tau2 alone is already too much.
    Source: Chow, Shao & Wang (2008), section 3.2.3.

    >>> design = Design(tasks=89, within=0.095)
    >>> print(f"{samples_for_equivalence(0.03, design, lift=0.01):.1f}")
    45.7
    """
    se = equivalence_se(margin, lift=lift, alpha=alpha, power=power)
    return design.samples(se, f"to show equivalence within {100 * margin:.2f} points")


def equivalence_se(
    margin: float, *, lift: float = 0.0, alpha: float = 0.05, power: float = 0.90
) -> float:
    """Largest standard error at which TOST still has `power`; arguments as above, fraction.

    Raises: DesignError: |lift| is not below the margin.
    """
    _check_margin(margin, lift, alpha)
    room = margin - abs(lift)
    widest = room / _reach(alpha, power)
    narrowest = room / _reach(alpha, (1.0 + power) / 2.0)

    def surplus(se: float) -> float:
        return _tost_power(margin, lift, se, alpha) - power

    return float(brentq(surplus, narrowest * (1 - 1e-9), widest * (1 + 1e-9), xtol=1e-15))


def one_sided_se(effect: float, *, alpha: float = 0.05, power: float = 0.80) -> float:
    """Largest standard error at which a one-sided z test of `effect` still has `power`."""
    if effect == 0.0:
        raise DesignError("an effect of 0 points cannot be detected at any standard error")
    return abs(effect) / _reach(alpha, power)


def two_proportion_size(
    first: float, second: float, *, alpha: float = 0.05, power: float = 0.80
) -> float:
    """Trials per group of the naive unpaired two-proportion test; not rounded.

    For comparison only: it throws away that both bands ran the same tasks.

    Raises: DesignError: rates outside [0, 1] or equal, alpha or power outside (0, 1).
    Source: R's `power.prop.test`, Fleiss, Levin & Paik (2003), equation 4.14 without correction.

    >>> print(f"{two_proportion_size(0.058, 0.021):.1f}")
    433.9
    """
    _check_rates(alpha, power)
    if not (0.0 <= first <= 1.0 and 0.0 <= second <= 1.0) or first == second:
        raise DesignError(f"rates {first} and {second}: need two different values in 0..1")
    pooled = (first + second) * (1.0 - (first + second) / 2.0)
    apart = first * (1.0 - first) + second * (1.0 - second)
    reach = critical(1 - alpha / 2) * math.sqrt(pooled) + critical(power) * math.sqrt(apart)
    return (reach / (first - second)) ** 2


def _tost_power(margin: float, lift: float, se: float, alpha: float) -> float:
    bound = critical(1 - alpha)
    return max(0.0, below((margin - lift) / se - bound) - below(bound - (margin + lift) / se))


def _reach(tail: float, power: float) -> float:
    _check_rates(tail, power)
    reach = critical(1 - tail) + critical(power)
    if reach <= 0.0:
        raise DesignError(f"power {power} is below the test's size; ask for more")
    return reach


def _check_rates(alpha: float, power: float) -> None:
    if not (0.0 < alpha < 1.0 and 0.0 < power < 1.0):
        raise DesignError(f"alpha {alpha} and power {power} must lie inside 0..1")


def _check_margin(margin: float, lift: float, alpha: float) -> None:
    _check_rates(alpha, 0.5)
    if not abs(lift) < margin < math.inf:
        raise DesignError(
            f"a lift of {100 * lift:.2f} points is not inside a margin of {100 * margin:.2f}; "
            "equivalence cannot be shown, widen the margin"
        )
