"""Equivalence: a difference shown to be small, which is not the same as not shown to be large."""

from dataclasses import dataclass

from ..models.errors import SampleTooSmall
from .contrasts import Contrast
from .intervals import Interval, around
from .tails import below, critical

MARGIN = 0.03


@dataclass(frozen=True, slots=True)
class Tost:
    """Two one-sided tests of |difference| < margin, and what could have been proven.

    `smallest_margin` is the least margin that would have passed at the test's alpha.
    """

    margin: float
    p_lower: float
    p_upper: float
    p: float
    ci: Interval
    smallest_margin: float


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether the lift is shown to lie within the margin, and the least margin it could be.

    `p_*` is the larger of the two one-sided p-values (`lower`, `upper`), `ci90_*` the interval at
    one minus twice alpha, which lies inside the margin exactly where p is below alpha.
    """

    margin: float
    p_same: float | None
    p_new: float | None
    smallest_margin_same: float | None
    smallest_margin_new: float | None
    p_lower_same: float | None = None
    p_upper_same: float | None = None
    p_lower_new: float | None = None
    p_upper_new: float | None = None
    ci90_same: Interval | None = None
    ci90_new: Interval | None = None


def tost(
    est: float, se: float, margin: float, df: float | None = None, alpha: float = 0.05
) -> Tost:
    """Equivalence within a margin by two one-sided tests; `p` is the larger of the two.

    Args:
        est, margin: fractions. se: its standard error, above 0. df: of Student's t; None: normal.
    Raises:
        SampleTooSmall: se is 0; counts without noise prove nothing.
    Source: Schuirmann (1987), J Pharmacokinet Biopharm 15:657-680.

    >>> print(f"{tost(0.0, 0.01, 0.03).p:.5f}")
    0.00135
    """
    if not se > 0.0:
        raise SampleTooSmall("equivalence needs a standard error above 0; run more samples")
    p_lower = below(-(est + margin) / se, df)
    p_upper = below((est - margin) / se, df)
    return Tost(
        margin=margin,
        p_lower=p_lower,
        p_upper=p_upper,
        p=max(p_lower, p_upper),
        ci=around(est, se, df, 1 - 2 * alpha),
        smallest_margin=abs(est) + critical(1 - alpha, df) * se,
    )


def equivalence(found: Contrast, margin: float = MARGIN, alpha: float = 0.05) -> Equivalence:
    """TOST of a contrast on the same tasks (normal) and on new tasks (t); None where it has none.

    Args:
        margin: a fraction above 0. alpha: level of each one-sided test.
    """
    same = tost(found.est, found.se_same, margin, None, alpha) if found.se_same else None
    new = tost(found.est, found.se_new, margin, found.df_new, alpha) if found.se_new else None
    return Equivalence(
        margin,
        same.p if same else None,
        new.p if new else None,
        same.smallest_margin if same else None,
        new.smallest_margin if new else None,
        same.p_lower if same else None,
        same.p_upper if same else None,
        new.p_lower if new else None,
        new.p_upper if new else None,
        same.ci if same else None,
        new.ci if new else None,
    )
