"""A rule of judgement, and the two questions that every table of rules asks of a verifier."""

from collections.abc import Callable
from typing import NamedTuple

from .evidence import Evidence
from .execution import KILLED
from .outcome import Cause, OomPlace, Verdict

PASS_REWARD = 1.0


class Rule(NamedTuple):
    """One row of the table: its name, when it fits, and what it then means."""

    name: str
    fits: Callable[[Evidence], object]
    verdict: Verdict
    cause: Cause | Callable[[Evidence], Cause] = ""
    oom: OomPlace | Callable[[Evidence], OomPlace | None] | None = None
    detail: Callable[[Evidence], str] = lambda evidence: ""


def solved(evidence: Evidence) -> bool:
    """The verifier gave the full reward."""
    return evidence.reward is not None and evidence.reward >= PASS_REWARD


def verifier_has_spoken(evidence: Evidence) -> bool:
    """The verifier came to its own end, in time, and left a verdict."""
    verifier = evidence.phase("verifier")
    return (
        verifier is not None
        and not verifier.timed_out
        and not verifier.lost
        and verifier.exit_code != KILLED
        and evidence.reward is not None
    )
