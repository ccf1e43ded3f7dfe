"""The gate: is b fit to replace a, given how far it may fall behind?

GO when even the least favourable reading of the missing outcomes leaves b, with 95 % confidence,
no further behind than the limit; NO-GO when even the most favourable one leaves it further behind;
else INCONCLUSIVE. So infra errors never turn a GO into a NO-GO: they widen what is not known. Where
both sides ran under the limits that are meant, an infra error is a failure there too: then it may
be counted as one.

Source: non-inferiority by one-sided limits, Schuirmann (1987); for the bounds Imbens & Manski
(2004), whose constant is the one-sided quantile here.
"""

from dataclasses import dataclass
from typing import Literal

from .contrasts import Contrast
from .tails import critical

type Decision = Literal["GO", "NO-GO", "INCONCLUSIVE"]
type Missing = Literal["unknown", "failed"]
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Limit:
    """How far b may fall behind a, a fraction; on these tasks or on new ones; `common_tasks`: tasks
    that only one side ran, and trials that never ended, are left out on purpose; `infra_errors`:
    what their outcomes count as."""

    max_drop: float
    target: Literal["same", "new"] = "same"
    common_tasks: bool = False
    infra_errors: Missing = "unknown"


@dataclass(frozen=True, slots=True)
class Gate:
    """The decision; `low` and `high` are one-sided 95 % limits of b minus a, whatever the missing
    outcomes were, or with infra errors as failures where that was asked. `strict` and `excluded`
    are what would be decided with infra errors as failures, and left out; `reason` says in words
    what decided."""

    decision: Decision
    max_drop: float
    target: Literal["same", "new"]
    infra_errors: Missing
    low: float | None
    high: float | None
    strict: Decision
    excluded: Decision | None
    reason: str


def gate(
    limit: Limit,
    strict: Contrast,
    excluded: Contrast | None,
    least: Contrast,
    most: Contrast,
    not_compared: str,
) -> Gate:
    """Decide.

    Args:
        strict, excluded: b minus a with infra errors as failures, and left out.
        least, most: with every missing outcome against b, and for it.
        not_compared: what one side lacks, in words; "" where all is there.
    """
    if limit.infra_errors == "failed":
        least = most = strict
    low, high = _bound(least, limit, -1), _bound(most, limit, +1)
    decision = _decided(low, high, limit)
    told = _decided(_bound(strict, limit, -1), _bound(strict, limit, +1), limit)
    without = None if excluded is None else _decided(
        _bound(excluded, limit, -1), _bound(excluded, limit, +1), limit
    )  # fmt: skip
    if limit.infra_errors == "failed" and low is not None:
        few = "; too few samples to tell" if decision == "INCONCLUSIVE" else ""
        reason = f"infra errors count as failures{few}"
    else:
        reason = _reason(decision, told, without, low is None)
    if not_compared and not limit.common_tasks and decision == "GO":
        decision = "INCONCLUSIVE"
        reason = (
            f"{not_compared}: what is missing may be what fails; run the rest, or say "
            "--common-tasks"
        )
    return Gate(
        decision, limit.max_drop, limit.target, limit.infra_errors, low, high, told, without, reason
    )


def _bound(found: Contrast, limit: Limit, sign: int) -> float | None:
    """The one-sided limit of a contrast; the estimate itself where there is no spread at all."""
    se, df = (found.se_same, None) if limit.target == "same" else (found.se_new, found.df_new)
    if se is None:
        return None
    return found.est if se == 0.0 else found.est + sign * critical(CONFIDENCE, df) * se


def _decided(low: float | None, high: float | None, limit: Limit) -> Decision:
    if low is not None and low > -limit.max_drop:
        return "GO"
    if high is not None and high < -limit.max_drop:
        return "NO-GO"
    return "INCONCLUSIVE"


def _reason(decision: Decision, strict: Decision, excluded: Decision | None, bare: bool) -> str:
    if decision != "INCONCLUSIVE":
        return "holds whatever the missing outcomes were"
    if bare:
        return "one sample per task and a single task show no noise: run more"
    if strict != "INCONCLUSIVE" or excluded not in (None, "INCONCLUSIVE"):
        told = f"{strict} with infra errors as failures"
        other = "" if excluded is None else f", {excluded} without them"
        return f"infra errors decide: {told}{other}; repair them and run those trials again"
    return "too few samples to tell"
