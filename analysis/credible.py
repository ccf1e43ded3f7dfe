"""The credible gap: how far apart two scores must be, by what is known of their configurations.

    matched       G0 = z.975 SE                            the same, and documented
    exchangeable  G1 = z.975 sqrt(SE^2 + 2 sum phi_F)      drawn from the same mixture
    worst case    G2 = spread + z.95 SE, at least G0       a submitter may have picked

SE is the same-task error of the difference; phi_F are the components of the unmatched factors and
spread the largest difference of scores between two plausible configurations.

Source: Imbens & Manski (2004), Econometrica 72:1845-1857, for the worst case; Brennan (2001),
Generalizability Theory, for the exchangeable one.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ..models.errors import DesignError
from .tails import critical

type Verdict = Literal["CREDIBLE", "ONLY IF MATCHED", "NOISE"]
type Configurations = Literal["matched", "exchangeable", "worst_case"]


@dataclass(frozen=True, slots=True)
class CredibleGap:
    """Thresholds that a gap must exceed, in the unit of their inputs."""

    matched: float
    exchangeable: float
    worst_case: float


def credible_gap(
    se: float, phi: float = 0.0, spread: float = 0.0, confidence: float = 0.95
) -> CredibleGap:
    """The three thresholds; formulas in the module's head.

    Args:
        se: standard error of the difference, above 0.
        phi: sum of the unmatched factors' components (squared unit of se); below 0 counts as 0.
        spread: largest difference between plausible configurations, 0 or more.
    Raises: DesignError: a value out of range.

    >>> gap = credible_gap(1.83, phi=0.72**2, spread=1.95)
    >>> print(f"{gap.matched:.2f} {gap.exchangeable:.2f} {gap.worst_case:.2f}")
    3.59 4.10 4.96
    """
    if not (0.0 < se < math.inf and 0.0 <= spread < math.inf and math.isfinite(phi)):
        raise DesignError(f"se {se} must be above 0, spread {spread} 0 or more, phi {phi} finite")
    if not 0.0 < confidence < 1.0:
        raise DesignError(f"confidence {confidence}: must lie strictly between 0 and 1")
    two, one = critical(0.5 + confidence / 2), critical(confidence)
    matched = two * se
    return CredibleGap(
        matched,
        two * math.sqrt(se**2 + 2.0 * max(phi, 0.0)),
        max(matched, spread + one * se),
    )


def verdict(est: float, gap: CredibleGap, configurations: Configurations) -> Verdict:
    """The word for a gap of `est`: what it exceeds."""
    size = abs(est)
    thresholds: dict[Configurations, float] = {
        "matched": gap.matched,
        "exchangeable": gap.exchangeable,
        "worst_case": gap.worst_case,
    }
    if size > thresholds[configurations]:
        return "CREDIBLE"
    return "ONLY IF MATCHED" if size > gap.matched else "NOISE"
