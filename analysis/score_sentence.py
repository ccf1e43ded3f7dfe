"""The sentence on the score; it says "equal" only where equivalence is shown."""

from .bands import BandRow, Lift
from .equivalence import Equivalence
from .intervals import Interval
from .story import Story
from .words import listed, number, percent, points

ALPHA = 0.05
UNNAMED = "all"  # the one entry of a table without an entry column
SAME_SCORE = 0.0005  # differences that round to 0.0 points


def score_sentence(story: Story) -> str:
    """One sentence on how the score moved between the floor band and the last one."""
    if story.infra_errors == story.n:
        return (
            "So there is no score: counted as failures these trials make 0.0 %, left out they "
            "leave nothing, and the bounds are 0.0 to 100.0 %."
        )
    pair = story.compared
    if pair is None:
        return _one_band(story)
    floor, other = pair
    if other.lift is None:
        return (
            f"The score of {_whose(story)} is {_strict(floor)} in {floor.band} and "
            f"{_strict(other)} in {other.band}, but no task and entry was run in both, so the two "
            "cannot be compared."
        )
    return _movement(story, floor, other, other.lift)


def _one_band(story: Story) -> str:
    row = story.run[0]
    if row.score is None:
        return f"The score in {row.band} cannot be told."
    told = f"The score of {_whose(story)} in {row.band} is {percent(row.score.strict.est)}"
    if row.infra_errors:
        lo, hi = row.score.bounds
        left = row.score.excluded
        without = f", {percent(left.est)} without them" if left else ""
        told += (
            f" with infrastructure errors as failures{without}, and between {percent(lo)} and "
            f"{percent(hi)} whatever they hid"
        )
    return f"{told}; one band tells nothing of what headroom is worth."


def _movement(story: Story, floor: BandRow, other: BandRow, lift: Lift) -> str:
    from_to = _from_to(floor, other, lift)
    where = f"From {floor.band} to {other.band} the score of {_whose(story)}"
    told = _intervals(lift)
    if abs(lift.est) < SAME_SCORE:
        moved = f"did not move{from_to}"
    elif lift.p_same is not None and lift.p_same >= ALPHA:
        moved = (
            f"moved by {points(lift.est)} {_unit(lift.est)}{from_to}, which these trials do not "
            "tell from no change"
        )
    else:
        word = "rose" if lift.est > 0 else "fell"
        size = points(lift.est, signed=False)
        moved = f"{word} by {size} {_unit(lift.est)}{from_to}"
    return f"{where} {moved}{told}{_shown_equal(other.equivalence, lift)}."


def _unit(fraction: float) -> str:
    return "point" if points(fraction, signed=False) == "1.0" else "points"


def _from_to(floor: BandRow, other: BandRow, lift: Lift) -> str:
    """Both scores, where their difference is the lift (both bands ran the same strata)."""
    if floor.score is None or other.score is None:
        return ""
    low, high = floor.score.strict.est, other.score.strict.est
    if abs((high - low) - lift.est) > SAME_SCORE:
        return " on what both ran"
    if abs(lift.est) < SAME_SCORE:
        return f" from {percent(low)}"
    return f", from {percent(low)} to {percent(high)}"


def _intervals(lift: Lift) -> str:
    parts = [
        f"{points(ci.lo)} to {points(ci.hi)} on {which}"
        for ci, which in ((lift.ci_same, "the same tasks"), (lift.ci_new, "new tasks"))
        if isinstance(ci, Interval)
    ]
    if not parts:
        return " (no interval: nothing varied that could give one)"
    alike = "; on the same tasks every repeat ended alike" if lift.se_same == 0.0 else ""
    alike += "; all tasks moved alike" if lift.se_new == 0.0 else ""
    return f" (95 % interval {' and '.join(parts)}{alike})"


def _shown_equal(found: Equivalence | None, lift: Lift) -> str:
    """What is shown about equality, where the lift is not shown to differ from 0."""
    if found is None or found.p_same is None or found.smallest_margin_same is None:
        return ""
    if found.p_same < ALPHA:
        return f"; it is shown to be equal within {points(found.margin, signed=False)} points"
    if lift.p_same is not None and lift.p_same >= ALPHA:
        least = points(found.smallest_margin_same, signed=False)
        return f"; equality is shown only within {least} points"
    return ""


def _strict(row: BandRow) -> str:
    return percent(row.score.strict.est) if row.score else "unknown"


def _whose(story: Story) -> str:
    """The entries, by name while they are few; policies are said to be policies."""
    entries, policies = story.entries, story.policies
    scripts = [name for name in entries if name in set(policies)]
    if not entries:
        return "all trials"
    if scripts and len(scripts) == len(entries):
        noun = "the policy" if len(entries) == 1 else f"the {number(len(entries))} policies"
        names = listed(entries) if len(entries) <= 4 else ""
        after = "a script, no model" if len(entries) == 1 else "scripts, not models"
        return f"{noun} {names} ({after})" if names else f"{noun} ({after})"
    if len(entries) == 1:
        named = "all trials" if entries[0] == UNNAMED else entries[0]
    else:
        names = f" {listed(entries)}" if len(entries) <= 4 else ""
        named = f"the {number(len(entries))} entries{names}"
    if not scripts:
        return named
    verb = "is a policy, no model" if len(scripts) == 1 else "are policies, not models"
    return f"{named} ({listed(scripts)} {verb})"
