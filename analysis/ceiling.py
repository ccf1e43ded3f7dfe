"""One ceiling against the floor: are errors cut, is the score left alone, what would show it."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .contrasts import Contrast, contrast
from .equivalence import tost
from .power import equivalence_se, one_sided_se
from .strata import Strata
from .tails import below
from .words import points

type Target = Literal["same", "new"]
"""Equivalence on these tasks, or on others like them."""

POWER = 0.80  # of the further trials that are asked for


@dataclass(frozen=True, slots=True)
class Rule:
    """What a ceiling must show.

    Args:
        margin: the score lies within this of the floor's, fraction.
        rho: infra errors lie below this share of the floor's.
        target: on these tasks or on new ones.
        alpha: level of each test.
    """

    margin: float
    rho: float
    target: Target
    alpha: float


@dataclass(frozen=True, slots=True)
class CeilingTests:
    """The two tests of one ceiling; fractions. None where the counts cannot give a number.

    `cut` is the errors' contrast `e_c - rho e_0`, below 0 when errors are cut.
    """

    band: str
    trials: int
    infra_rate: float
    cut: float
    cut_se: float | None
    cuts_p: float | None
    score: Contrast
    score_se: float | None
    equivalent_p: float | None
    smallest_margin: float | None


def compare_ceiling(
    band: str,
    errors: Strata,
    floor_errors: Strata,
    scores: Strata,
    floor_scores: Strata,
    rule: Rule,
) -> CeilingTests:
    """Test a ceiling on tables of infra errors and of scores; see `calibrate`.

    Raises:
        SampleTooSmall: no task and entry was run at both bands.
    """
    cut, score = contrast(errors, floor_errors, scale=rule.rho), contrast(scores, floor_scores)
    cut_se = cut.se_same or _unstratified(errors, floor_errors, rule.rho)
    same = score.se_same or _unstratified(scores, floor_scores, 1.0)
    se, df = (same, None) if rule.target == "same" else (score.se_new, score.df_new)
    proof = tost(score.est, se, rule.margin, df, rule.alpha) if se else None
    return CeilingTests(
        band=band,
        trials=int(scores.n.sum()),
        infra_rate=_pooled(errors),
        cut=cut.est,
        cut_se=cut_se,
        cuts_p=below(cut.est / cut_se) if cut_se else None,
        score=score,
        score_se=se,
        equivalent_p=proof.p if proof else None,
        smallest_margin=proof.smallest_margin if proof else None,
    )


def trials_needed(tests: CeilingTests, rule: Rule) -> tuple[int | None, str]:
    """Further trials per band for both tests to have 80 % power at the effects seen so far.

    Returns: (trials, "") or (None, what stands in the way).
    """
    if tests.cut_se is None or not tests.score_se:
        return None, "no spread to judge by: every trial ended alike, or too few tasks"
    if tests.cut >= 0.0:
        return None, "errors are not below the asked share of the floor's"
    if abs(tests.score.est) >= rule.margin:
        return None, f"the lift of {points(tests.score.est)} points is not inside the margin"
    growth = max(_growth_for_errors(tests, rule), _growth_for_score(tests, rule))
    if growth == math.inf:
        return None, "tasks differ too much in the effect: add tasks, not samples"
    if growth <= 1.0:
        return 0, "passes by itself, but a ceiling before it in the sequence does not"
    return math.ceil((growth - 1.0) * tests.trials), ""


def _growth_for_errors(tests: CeilingTests, rule: Rule) -> float:
    """How many times as many trials (A) needs; 1 when it passes already."""
    if tests.cut_se is None or (tests.cuts_p is not None and tests.cuts_p < rule.alpha):
        return 1.0
    return (tests.cut_se / one_sided_se(tests.cut, alpha=rule.alpha, power=POWER)) ** 2


def _growth_for_score(tests: CeilingTests, rule: Rule) -> float:
    """How many times as many trials (B) needs; 1 when it passes already, inf when none do."""
    if not tests.score_se or (tests.equivalent_p is not None and tests.equivalent_p < rule.alpha):
        return 1.0
    wanted = equivalence_se(rule.margin, lift=tests.score.est, alpha=rule.alpha, power=POWER)
    # On new tasks, no number of samples shrinks the spread of the tasks' own effects.
    fixed = max(tests.score.tau2 or 0.0, 0.0) / tests.score.tasks if rule.target == "new" else 0.0
    if wanted**2 <= fixed:
        return math.inf
    return max(tests.score_se**2 - fixed, 0.0) / (wanted**2 - fixed)


def _pooled(table: Strata) -> float:
    return float(np.sum(table.mean * table.n) / table.n.sum())


def _unstratified(a: Strata, b: Strata, scale: float) -> float | None:
    """Standard error without strata: larger, and there when every cell's trials ended alike."""
    variances = [_pooled(x) * (1.0 - _pooled(x)) / int(x.n.sum()) for x in (a, b)]
    return math.sqrt(variances[0] + scale**2 * variances[1]) or None
