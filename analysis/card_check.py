"""What a card leaves unstated, and whether two cards are of matched configurations. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..models.card import Card
from .configuration import ITEMS, Configuration, ItemCompared, compared

type Match = Literal["matched", "not matched", "not known to match"]


@dataclass(frozen=True, slots=True)
class Lack:
    """Something that a card leaves unstated, and why a reader needs it."""

    what: str
    why: str


def lacks(card: Card) -> tuple[Lack, ...]:
    """Everything that the card leaves unstated."""
    found = [Lack(what, why) for what, why, stated in NEEDED if not stated(card)]
    found += [
        Lack(f"{source.kind}: {lack.what}", lack.why)
        for source in card.sources
        for lack in source.unrecorded
    ]
    return tuple(dict.fromkeys(found))  # several trees of a kind lack the same


def differences(a: Card, b: Card) -> tuple[ItemCompared, ...]:
    """Every item of two cards, side by side."""
    return compared(_configuration(a), _configuration(b))


def match(items: tuple[ItemCompared, ...]) -> Match:
    """Whether scores under two cards may be compared as they stand."""
    decisive = [row.state for row in items if row.decides]
    if "differs" in decisive:
        return "not matched"
    return "not known to match" if "unrecorded" in decisive else "matched"


def _configuration(card: Card) -> Configuration:
    told = card.configuration
    return Configuration({name: told.get(name, ()) for name in ITEMS}, card.tasks)


NEEDED: tuple[tuple[str, str, Callable[[Card], object]], ...] = (
    ("floors and ceilings", "the same score under another ceiling is another result",
     lambda c: c.bands and all(b.memory and b.cpu and b.storage for b in c.bands)),
    ("enforcement", "the same number enforced otherwise is another ceiling",
     lambda c: c.enforcement),
    ("OOM scope", "whether a killed child ends the trial decides what a kill costs",
     lambda c: c.bands and all(b.oom_scope for b in c.bands)),
    ("swap", "swap on top of a ceiling doubles it without a word",
     lambda c: c.bands and all(b.swap is not None for b in c.bands)),
    ("runtime", "processes, containers and pods fail in different ways", lambda c: c.runtime),
    ("nodes", "a slower machine is a shorter time limit", lambda c: c.nodes),
    ("concurrency", "neighbours take CPU, memory bandwidth and network",
     lambda c: c.concurrency),
    ("concurrency in force", "what was declared is not what ran",
     lambda c: c.concurrency_in_force is not None),
    ("egress", "tasks and agents that download depend on it", lambda c: c.egress),
    ("time limits", "a longer limit is a higher score", lambda c: c.time_limits),
    ("retries", "which attempt counted", lambda c: c.attempts_per_trial_at_most is not None),
    ("clocks", "without them nobody can tell a slow model from a slow machine",
     lambda c: c.clocks),
    ("infra error rates by cause", "how much of the score is infrastructure",
     lambda c: c.infra_errors),
    ("dates", "load and rate limits go with the hour", lambda c: c.dates),
    ("harness and its version", "its defaults are part of the configuration",
     lambda c: c.harness),
    ("agent versions", "an agent that downloads its newest version is another agent",
     lambda c: c.agent_versions or not c.sources),
    ("contents of tasks", "tasks of one name change",
     lambda c: c.tasks and all(c.tasks.values())),
    ("samples", "without them nobody can tell noise from a difference",
     lambda c: c.samples is not None),
    ("seed", "the order of trials cannot be made again", lambda c: c.seed is not None),
)  # fmt: skip
