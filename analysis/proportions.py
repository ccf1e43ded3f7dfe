"""Tests of two proportions: pooled, exact, and paired."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ..models.errors import DesignError, SampleTooSmall
from .tails import chi2_above


@dataclass(frozen=True, slots=True)
class TwoProportions:
    """The unpaired comparison that throws the task pairing away; shown beside, never instead.

    `stat` is the pooled chi-square without continuity correction, `se` the unpooled standard
    error of the difference; both p and stat are None where every trial ended the same way.
    """

    est: float
    se: float
    stat: float | None
    p: float | None


def two_proportions(hits_a: float, n_a: int, hits_b: float, n_b: int) -> TwoProportions:
    """Difference `a - b` of two independent proportions, as a fraction.

    Args:
        hits: counts, or sums of fractional rewards (for which the test is conservative).
    Raises:
        SampleTooSmall: a group without trials.
    Source: Pearson's chi-square, as R's prop.test(correct=FALSE).
    """
    if n_a < 1 or n_b < 1:
        raise SampleTooSmall("two proportions need trials in both groups")
    p_a, p_b = hits_a / n_a, hits_b / n_b
    se = float(np.sqrt(p_a * (1 - p_a) / n_a + p_b * (1 - p_b) / n_b))
    pooled = (hits_a + hits_b) / (n_a + n_b)
    spread = pooled * (1 - pooled) * (1 / n_a + 1 / n_b)
    if spread <= 0.0:
        return TwoProportions(p_a - p_b, se, None, None)
    stat = (p_a - p_b) ** 2 / spread
    return TwoProportions(p_a - p_b, se, stat, chi2_above(stat, 1))


def fisher(hits_a: int, n_a: int, hits_b: int, n_b: int) -> float:
    """Two-sided exact p-value of two proportions, by the sum of tables no likelier than ours.

    Raises:
        SampleTooSmall: a group without trials.
        DesignError: hits outside 0..n.
    Source: Fisher (1935); as R's fisher.test.
    """
    if n_a < 1 or n_b < 1:
        raise SampleTooSmall("an exact test needs trials in both groups")
    if not (0 <= hits_a <= n_a and 0 <= hits_b <= n_b):
        raise DesignError("hits must lie in 0..n of their group")
    from scipy import stats  # it takes half a second, and few ask for this

    return float(stats.fisher_exact([[hits_a, n_a - hits_a], [hits_b, n_b - hits_b]]).pvalue)


def mcnemar_mid_p(only_a: int, only_b: int) -> float | None:
    """Two-sided mid-p of paired single samples, from the pairs that differ.

    Args:
        only_a: pairs in which a passed and b failed. only_b: the reverse.
    Returns: None where no pair differs.
    Source: Fagerland, Lydersen & Laake (2013), BMC Med Res Methodol 13:91.

    >>> print(f"{mcnemar_mid_p(1, 9):.4f}")
    0.0117
    """
    pairs, least = only_a + only_b, min(only_a, only_b)
    if pairs == 0:
        return None
    at = float(special.comb(pairs, least, exact=True) / 2**pairs)
    if only_a == only_b:
        return 1.0 - at / 2  # the two tails share their middle
    return 2.0 * float(special.bdtr(least, pairs, 0.5)) - at
