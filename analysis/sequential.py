"""When a run may stop: an anytime-valid monitor over rounds.

A round is one trial of every task (and entry) in every band, interleaved on the same nodes and in
the same hours. Given the tasks, the difference of two bands in one round is an independent draw
with mean the lift and a known variance, so the mean of t rounds follows the asymptotic confidence
sequence

    half(t) = sigma sqrt( 2 (t rho2 + 1) / (t^2 rho2) ln( sqrt(t rho2 + 1) / alpha ) )

which holds at all t at once: look after every round, stop whenever it says so. (Peeking at a fixed
95 % interval after each of 40 rounds raises a false alarm in 28 % of runs.)

Source: Robbins (1970), Ann Math Stat 41:1397-1409; Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas
(2024), Annals of Statistics 52:2613-2640, theorem 2.2 and equation 10 (arXiv:2103.06476).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ..models.errors import DesignError, SampleTooSmall
from .arrays import Floats

Decision = Literal["difference", "equivalent", "continue"]
FEWEST_ROUNDS = 4  # a spread estimated from fewer rounds decides nothing
WIDEST = 2.0  # a difference of two rates never needs a wider half-width


@dataclass(frozen=True, slots=True)
class Monitor:
    """What the rounds so far say of one contrast; fractions.

    `decision` is "difference" once the interval left zero out, "equivalent" once it lay inside
    +-margin (and held zero), else "continue". It was made at round `decided_at` (None: not yet) and
    stays; `est`, `lo` and `hi` go on with every round.
    """

    contrast: str
    rounds: int
    est: float
    lo: float
    hi: float
    sigma: float
    margin: float
    decision: Decision
    decided_at: int | None

    @property
    def may_stop(self) -> bool:
        """True once this contrast is decided."""
        return self.decision != "continue"


def tuned_rho2(rounds: float, alpha: float = 0.05) -> float:
    """The rho2 that makes the sequence tightest near `rounds` (t*).

    `(-2 ln alpha + ln(1 - 2 ln alpha)) / t*`

    Source: Waudby-Smith et al. (2024), equation 11.

    >>> print(f"{tuned_rho2(8):.6f}")
    0.992019
    """
    if not rounds > 0.0 or not 0.0 < alpha < 1.0:
        raise DesignError(f"rounds {rounds} must be above 0 and alpha {alpha} inside 0..1")
    spent = -2.0 * math.log(alpha)
    return (spent + math.log1p(spent)) / rounds


def half_width(rounds: ArrayLike, sigma: ArrayLike, rho2: float, alpha: float = 0.05) -> Floats:
    """Half-width of the confidence sequence after `rounds`; formula in the module's head.

    Args:
        rounds: t, any shape, 1 or more.
        sigma: SD of one round's difference, fraction; broadcasts against rounds.
        rho2: tuning, above 0; see `tuned_rho2`.
    Returns:  fractions, of the broadcast shape.

    >>> half_width([3, 8, 20], 0.05, tuned_rho2(8)).round(4).tolist()
    [0.0906, 0.0537, 0.0344]
    """
    t, sd = np.asarray(rounds, float), np.asarray(sigma, float)
    if np.any(t < 1) or np.any(sd < 0) or not rho2 > 0.0 or not 0.0 < alpha < 1.0:
        raise DesignError("need rounds >= 1, sigma >= 0, rho2 > 0, and alpha inside 0..1")
    grown = t * rho2 + 1.0
    return sd * np.sqrt(2.0 * grown / (t**2 * rho2) * np.log(np.sqrt(grown) / alpha))


def round_sd(within: float, tasks: int, entries: int = 1) -> float:
    """SD of one round's band difference, `sqrt(2 w / (T M))`, from measured within-task variance.

    Args:
        within: w = E[p(1-p)] of one trial.
    """
    if tasks < 1 or entries < 1 or not 0.0 < within <= 0.25:
        raise DesignError(f"{tasks} tasks, {entries} entries, within {within}: out of range")
    return math.sqrt(2.0 * within / (tasks * entries))


def monitor(
    differences: ArrayLike,
    *,
    margin: float,
    sigma: float | None = None,
    tuned_at: float = 8.0,
    alpha: float = 0.05,
    contrast: str = "",
    earliest: int | None = None,
) -> Monitor:
    """Read one contrast's rounds in their order and say whether it may stop.

    Args:
        differences: score of the band minus score of the floor in each complete round, `(t,)`.
        margin: equivalence margin, fraction, above 0.
        sigma: SD of one round's difference if known (see `round_sd`); else the running SD of the
            rounds themselves.
        tuned_at: round at which the sequence is tightest.
        earliest: first round that may decide; by default 1 where sigma is known, else 4.
    Raises: SampleTooSmall: no round yet. DesignError: margin not above 0, a value not finite.
    """
    d = np.asarray(differences, float)
    if d.ndim != 1 or d.size == 0:
        raise SampleTooSmall("no complete round yet; a round is one trial of every task per band")
    if not margin > 0.0 or not np.all(np.isfinite(d)):
        raise DesignError(f"margin {margin} must be above 0 and every difference finite")
    t = np.arange(1, d.size + 1)
    mean = np.cumsum(d) / t
    sd = _running_sd(d) if sigma is None else np.full(d.size, float(sigma))
    half = half_width(t, sd, tuned_rho2(tuned_at, alpha), alpha)
    # Rounds that agree to the last trial carry no spread to judge by: no decision on them.
    first = earliest or (FEWEST_ROUNDS if sigma is None else 1)
    half = np.where((sd > 0.0) & (t >= first), half, np.inf)
    return _read(contrast, mean, half, sd, margin)


def may_stop(monitors: Sequence[Monitor]) -> bool:
    """True once every contrast is decided. Each is at its own alpha; none of them means no.

    `run --until decided` and `run --until margin=...` stop here.
    """
    return bool(monitors) and all(each.may_stop for each in monitors)


def _running_sd(d: Floats) -> Floats:
    """SD of the first t values; 0 for the lone first."""
    t = np.arange(1, d.size + 1)
    centred = d - d[0]  # the variance does not move, and cancellation is smaller
    square = np.cumsum(centred**2) - np.cumsum(centred) ** 2 / t
    return np.asarray(np.sqrt(np.maximum(square, 0.0) / np.maximum(t - 1, 1)))


def _read(
    contrast: str,
    mean: Floats,
    half: Floats,
    sd: Floats,
    margin: float,
) -> Monitor:
    """Interval of the last round, and the first decision; `half` is inf where none is allowed."""
    apart = np.abs(mean) > half
    decided = np.flatnonzero(apart | (np.abs(mean) + half < margin))
    decision: Decision = "continue"
    if decided.size:
        decision = "difference" if apart[decided[0]] else "equivalent"
    est, width = float(mean[-1]), min(float(half[-1]), WIDEST)
    return Monitor(
        contrast=contrast,
        rounds=mean.size,
        est=est,
        lo=max(-1.0, est - width),
        hi=min(1.0, est + width),
        sigma=float(sd[-1]),
        margin=margin,
        decision=decision,
        decided_at=int(decided[0]) + 1 if decided.size else None,
    )
