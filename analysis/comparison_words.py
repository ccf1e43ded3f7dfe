"""What a comparison says in sentences. Pure."""

from .comparison import Comparison
from .configuration import match_words
from .intervals import Interval
from .words import counted, p_value, percent, points

MEANS = {
    "CREDIBLE": "more than noise explains",
    "NOISE": "no more than noise explains",
    "ONLY IF MATCHED": "more than sampling explains, but the configurations are not known to match",
    "UNKNOWN": "the counts show no noise to judge by",
}


def verdict_sentence(found: Comparison) -> str:
    """The difference, both intervals, and the verdict."""
    gap, word = found.difference, found.credibility.word
    if round(gap.est, 12) == 0.0:
        standing = f"{found.b.name} and {found.a.name} score the same"
    else:
        side = "above" if gap.est > 0 else "below"
        size = points(abs(gap.est), signed=False)
        standing = f"{found.b.name} scores {size} points {side} {found.a.name}"
    told = f"on the {counted(found.tasks, 'task')} that both ran"
    intervals = f"{_interval('same tasks', gap.ci_same)}; {_interval('new tasks', gap.ci_new)}"
    return f"{standing} {told} (95 %: {intervals}): {word}, {MEANS[word]}."


def threshold_sentence(found: Comparison) -> str:
    """How far apart the two must be, matched and not."""
    known = found.credibility.thresholds
    if known is None:
        return "No threshold can be told: every trial of a task ended alike."
    matched = points(known.matched, signed=False)
    if found.credibility.unmatched == "UNKNOWN" or known.exchangeable == known.matched:
        rest = (
            "what unmatched configurations are worth is not known here; name an experiment that "
            "varied them with --noise-from"
        )
    else:
        rest = (
            f"{points(known.exchangeable, signed=False)} where they are drawn alike, "
            f"{points(known.worst_case, signed=False)} where one may have been picked"
        )
    return (
        f"Credible are {matched} points and more between matched configurations; {rest}. "
        f"These configurations {_match(found)}."
    )


def missing_sentence(found: Comparison) -> str:
    """What the difference is without infra errors, and whatever they hid."""
    gap = found.difference
    rates = (
        f"Infra errors: {percent(found.a.infra_rate.est)} of {found.a.n:,} trials of "
        f"{found.a.name}, {percent(found.b.infra_rate.est)} of {found.b.n:,} of {found.b.name}."
    )
    if found.a.infra_errors == found.b.infra_errors == 0:
        return rates
    without = (
        f"{points(found.excluded.est)} without them" if found.excluded else "nothing without them"
    )
    bounds = f"between {points(found.bounds.lo)} and {points(found.bounds.hi)} whatever they hid"
    return (
        f"{rates} The difference is {points(gap.est)} with them as failures, {without}, {bounds}."
    )


def settling_sentence(found: Comparison) -> str:
    """How many more samples would settle it."""
    told, margin = found.settling, found.equivalence.margin
    have = f"{told.samples:.3g} samples per task and side"
    if told.detectable is None:
        return f"With {have}: {told.obstacle}."
    shows = points(told.detectable, signed=False)
    parts = [f"With {have}, a true difference of {shows} points would show"]
    if told.to_detect:
        parts.append(f"one as large as the one seen needs {told.to_detect:,}")
    if told.to_detect == 0:
        parts.append("the one seen is shown on these tasks")
    if told.to_prove_equal == 0:
        parts.append(f"equality within {points(margin, signed=False)} is within reach")
    elif told.to_prove_equal:
        parts.append(
            f"equality within {points(margin, signed=False)} needs {told.to_prove_equal:,}"
        )
    elif told.obstacle:
        parts.append(told.obstacle)
    if told.tasks_for_new:
        parts.append(f"on new tasks the one seen needs {told.tasks_for_new:,} tasks")
    return "; ".join(parts) + "."


def gate_sentence(found: Comparison) -> str:
    """The gate's decision, and why."""
    gate = found.gate
    assert gate is not None
    tasks = "these tasks" if gate.target == "same" else "new tasks"
    ends = ""
    if gate.low is not None and gate.high is not None:
        ends = (
            f" {found.b.name} lies at {points(gate.low)} or above and {points(gate.high)} or below"
        )
        hid = ", whatever infra errors hid" if gate.infra_errors == "unknown" else ""
        ends += f" (95 % each way, {tasks}{hid});"
    drop = points(gate.max_drop, signed=False)
    decided = f"{gate.decision}: at most {drop} points behind are allowed;{ends} {gate.reason}."
    if found.credibility.configurations_match:
        return decided
    return f"{decided} The configurations {_match(found)}: part of it may be infrastructure."


def twice_sentence(found: Comparison) -> str:
    """The suspicion that both sides are one; "" where there is none."""
    if not found.same_counts:
        return ""
    return "Every task counts alike on both sides: are these the same results, read twice?"


def p_values(found: Comparison) -> str:
    """Both p-values of no difference."""
    pairs = (("same tasks", found.difference.p_same), ("new tasks", found.difference.p_new))
    return ", ".join(f"{p_value(p)} on {name}" for name, p in pairs if p is not None)


def _match(found: Comparison) -> str:
    return match_words(found.settings, matched=found.credibility.configurations_match)


def _interval(name: str, interval: Interval | None) -> str:
    if interval is None:
        return f"{name} unknown"
    return f"{name} {points(interval.lo)} to {points(interval.hi)}"
