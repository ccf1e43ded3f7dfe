"""The chapter on a run that ended early: by which rule, and on what numbers."""

from collections.abc import Mapping
from typing import Any

from ..words import points
from .chapter import ABSENT, Chapter, table


def stopped_chapter(stopped: Mapping[str, Any]) -> Chapter:
    """Why the rest of the plan was not run; `stopped` is a `Stopping` as JSON."""
    return Chapter(
        anchor="stopped",
        title="Why this run ended early",
        lead=f"The run was told to stop when it had seen enough. {stopped['sentence']}",
        tables=(
            table(
                "Lifts at the round that ended it, in points, with intervals that hold at every "
                "look",
                ("lift", "points", "interval", "decision", "decided after round"),
                [_line(one) for one in stopped["contrasts"]],
                words=(3,),
            ),
        ),
        notes=(f"Rule: {stopped['rule']}. Waves that had begun were run to their end.",),
    )


def _line(one: Mapping[str, Any]) -> tuple[str, ...]:
    after = one["decided_at"]
    return (
        one["contrast"],
        points(one["est"]),
        f"{points(one['lo'])} to {points(one['hi'])}",
        one["decision"],
        ABSENT if after is None else str(after),
    )
