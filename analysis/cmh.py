"""The Cochran-Mantel-Haenszel test: one odds ratio over all strata."""

from dataclasses import dataclass

import numpy as np

from .pairs import Pairs
from .tails import chi2_above


@dataclass(frozen=True, slots=True)
class Cmh:
    """Test of no difference in any stratum.

    Args:
        stat, p: chi-square on 1 df without continuity correction; None without information.
        stat_cc, p_cc: with it.
        odds_ratio: Mantel-Haenszel estimate, a over b; None where it would be 0/0 or endless.
        informative_strata: strata with a hit and a miss; the others contribute nothing.
    """

    stat: float | None
    p: float | None
    stat_cc: float | None
    p_cc: float | None
    odds_ratio: float | None
    informative_strata: int


def cmh(found: Pairs) -> Cmh:
    """Cochran-Mantel-Haenszel test of the strata's 2x2 tables.

    `(|sum(a - E a)| - c)^2 / sum n_a n_b m (N - m) / (N^2 (N - 1))`, c = 0, or 1/2 where the
    distance is that large.

    Source: Mantel & Haenszel (1959), JNCI 22:719-748; as R's mantelhaen.test.
    """
    informative = found.informative
    n_a, n_b = (n[informative].astype(np.float64) for n in (found.n_a, found.n_b))
    a, b = (hits[informative].astype(np.float64) for hits in (found.hits_a, found.hits_b))
    total, hits = n_a + n_b, a + b
    variance = float(np.sum(n_a * n_b * hits * (total - hits) / (total**2 * (total - 1))))
    count = int(np.count_nonzero(informative))
    if variance <= 0.0:
        return Cmh(None, None, None, None, None, count)
    distance = abs(float(np.sum(a - n_a * hits / total)))
    stat = distance**2 / variance
    stat_cc = (distance - (0.5 if distance >= 0.5 else 0.0)) ** 2 / variance
    concordant = float(np.sum(a * (n_b - b) / total))
    discordant = float(np.sum(b * (n_a - a) / total))
    ratio = concordant / discordant if discordant > 0.0 else None
    return Cmh(stat, chi2_above(stat, 1), stat_cc, chi2_above(stat_cc, 1), ratio, count)
