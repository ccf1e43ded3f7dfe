"""The two sentences that open every report: what infrastructure ended, what became of the score.

Pure: bands and counts in, words out. "Equal" is said only of a shown equivalence, and policies are
called policies.
"""

from collections.abc import Sequence

from .bands import BandRow
from .score_sentence import score_sentence
from .story import Story
from .words import counted, number, percent, percents


def opening(story: Story) -> tuple[str, str]:
    """Two sentences: on infra errors, on the score.

    >>> row = BandRow("1x", n=0, passed=0, infra_errors=0, infra_rate=None, score=None)
    >>> opening(Story([row], "1x", planned=360))[0]
    'None of the 360 planned trials has an outcome yet.'
    """
    if story.n == 0:
        return _nothing_yet(story.planned), "No score can be told before a trial ends."
    return _so_far(story, _on_errors(story)), score_sentence(story)


def _nothing_yet(planned: int | None) -> str:
    if not planned:
        return "There are no trials."
    if planned == 1:
        return "The one planned trial has no outcome yet."
    return f"None of the {planned:,} planned trials has an outcome yet."


def _so_far(story: Story, sentence: str) -> str:
    if story.planned is None or story.n >= story.planned:
        return sentence
    begun = f"So far, with {story.n:,} of {counted(story.planned, 'trial')} ended, "
    return begun + sentence[0].lower() + sentence[1:]


def _on_errors(story: Story) -> str:
    run, n, infra = story.run, story.n, story.infra_errors
    among = f"in {run[0].band}, the only band run" if len(run) == 1 else _all_bands(run)
    if infra == 0:
        rate = _rate_of(run)
        subject = "The one trial did not end" if n == 1 else f"None of the {n:,} trials ended"
        return f"{subject} in an infrastructure error, {among}{rate}."
    if infra == n:
        subject = "The one trial" if n == 1 else f"All {n:,} trials"
        return f"{subject} ended in an infrastructure error, {among}{_kills(story, infra)}."
    pair = story.compared
    if len(run) == 1 or pair is None:
        where = among
        rate = f"{infra:,} of {counted(n, 'trial')} ({percent(infra / n)}{_interval(run)})"
        return f"{_culprit(story)} ended {rate} {where}{_kills(story, infra)}."
    floor, other = pair
    return (
        f"{_culprit(story)} ended {_share(floor)} in {floor.band} and {_share(other)} in "
        f"{other.band}{_kills(story, infra)}."
    )


def _culprit(story: Story) -> str:
    return f"Infrastructure, not the {_kind(story)},"


def _kind(story: Story) -> str:
    if story.policies and len(story.policies) == len(story.entries):
        return "policy"
    return "agent"


def _all_bands(run: Sequence[BandRow]) -> str:
    return f"in any of the {number(len(run))} bands" if len(run) > 2 else "in either band"


def _rate_of(run: Sequence[BandRow]) -> str:
    interval = _interval(run)
    return f" (0.0 %{interval})" if interval else ""


def _interval(run: Sequence[BandRow]) -> str:
    """The interval of a lone band's rate; pooled bands have none of their own."""
    if len(run) != 1 or run[0].infra_rate is None:
        return ""
    return f", 95 % interval {percents(run[0].infra_rate.lo, run[0].infra_rate.hi)}"


def _share(row: BandRow) -> str:
    many = "none" if row.infra_errors == 0 else f"{row.infra_errors:,}"
    rate = row.infra_rate
    if rate is None:
        return f"{many} of {counted(row.n, 'trial')}"
    told = f"{percent(rate.est)}, 95 % interval {percents(rate.lo, rate.hi)}"
    return f"{many} of {counted(row.n, 'trial')} ({told})"


def _kills(story: Story, infra: int) -> str:
    """How many of all the infra errors were out-of-memory kills."""
    if story.oom_killed is None:
        return ""
    kills = sum(story.oom_killed.values())
    if infra == 1:
        return "; it was an out-of-memory kill" if kills == 1 else "; it was no out-of-memory kill"
    over = f"over all {number(len(story.run))} bands, " if len(story.run) > 2 else ""
    if kills == 0:
        return f"; {over}none of the {infra:,} such errors was an out-of-memory kill"
    if kills == infra:
        return f"; {over}all {infra:,} such errors were out-of-memory kills"
    verb = "was an out-of-memory kill" if kills == 1 else "were out-of-memory kills"
    return f"; {over}{kills:,} of the {infra:,} such errors {verb}"
