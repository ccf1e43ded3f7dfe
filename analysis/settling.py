"""How many more samples would settle a difference."""

import math
from dataclasses import dataclass

from ..models.errors import DesignError
from .contrasts import Contrast
from .power import equivalence_se, one_sided_se
from .words import points

POWER = 0.80


@dataclass(frozen=True, slots=True)
class Settling:
    """What more samples could show, at 80 % power and the difference seen so far.

    Args:
        samples: per task (and entry, and band) and side, so far; a mean.
        detectable: the smallest true difference that these samples show, a fraction.
        to_detect: samples per task and side that show a difference as large as the one seen; 0 if
            it is shown already, None if no number does.
        to_prove_equal: the same to show that it lies within the margin.
        tasks_for_new: tasks, at these samples, to show the difference on new tasks; None likewise.
        obstacle: what stands in the way where a number is None.
    """

    samples: float
    detectable: float | None
    to_detect: int | None
    to_prove_equal: int | None
    tasks_for_new: int | None
    obstacle: str


def settling(found: Contrast, margin: float, samples: float) -> Settling:
    """From a contrast at `samples` trials per stratum and side; `margin` is a fraction."""
    se = found.se_same
    if not se:
        why = "no spread to judge by: every trial ended alike, or there is one sample of one task"
        return Settling(samples, None, None, None, None, why)
    detect, prove = _to_detect(found, samples), _to_prove(found, margin, samples)
    obstacle = ""
    if prove is None:
        obstacle = (
            f"a difference of {points(found.est)} points is not inside the margin of "
            f"{100 * margin:g}"
        )
    return Settling(samples, 2.8 * se, detect, prove, _tasks(found), obstacle)


def _to_detect(found: Contrast, samples: float) -> int | None:
    assert found.se_same is not None
    if found.p_same is not None and found.p_same < 0.05:
        return 0
    if found.est == 0.0:
        return None
    wanted = one_sided_se(found.est, alpha=0.025, power=POWER)
    return math.ceil(samples * (found.se_same / wanted) ** 2)


def _to_prove(found: Contrast, margin: float, samples: float) -> int | None:
    assert found.se_same is not None
    try:
        wanted = equivalence_se(margin, lift=found.est, power=POWER)
    except DesignError:  # the difference seen is larger than the margin
        return None
    needed = samples * (found.se_same / wanted) ** 2
    return 0 if needed <= samples else math.ceil(needed)


def _tasks(found: Contrast) -> int | None:
    if not found.se_new or found.est == 0.0:
        return None
    if found.p_new is not None and found.p_new < 0.05:
        return 0
    wanted = one_sided_se(found.est, alpha=0.025, power=POWER)
    return math.ceil(found.tasks * (found.se_new / wanted) ** 2)
