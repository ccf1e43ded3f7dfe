"""Trials that others ran, as an importer hands them to the ledger.

Most of what an importer reads is written down once and seen again by other processes only. So it
gives facts, the fields of our nouns by their names, and makes no nouns of them: of a large import
that would be most of the cost.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from .band import Band
from .conditions import Clocks, Conditions, Usage
from .entry import Entry
from .evidence import Evidence, Fault, Phase
from .origin import Origin
from .task import Task
from .value import Value
from .waves import Levels

type Facts = Mapping[str, Any]
"""The fields of a noun, those at least that it must have; nobody changes them."""


def facts_of[**P, V: Value](noun: Callable[P, V]) -> Callable[P, Facts]:
    """What takes a noun's fields, typed as the noun's own are, and gives them as facts.

    >>> facts_of(Usage)(input_tokens=7)
    {'input_tokens': 7}
    """
    return cast(Callable[P, Facts], dict)


told_clocks = facts_of(Clocks)
told_conditions = facts_of(Conditions)
told_evidence = facts_of(Evidence)
told_fault = facts_of(Fault)
told_origin = facts_of(Origin)
told_phase = facts_of(Phase)
told_usage = facts_of(Usage)


class ForeignAttempt(NamedTuple):
    """One execution, as far as its source tells: facts of an `Evidence`, of `Conditions`, `Usage`,
    `Clocks` and an `Origin`."""

    evidence: Facts
    conditions: Facts
    usage: Facts
    clocks: Facts
    origin: Facts

    @property
    def reward(self) -> float | None:
        """The verifier's reward in [0, 1]; None where there is none."""
        reward: float | None = self.evidence.get("reward")
        return reward

    @property
    def mode(self) -> str:
        """The source's word for how it ended; "" where it says nothing."""
        mode: str = self.origin.get("mode", "")
        return mode


class ForeignTrial(NamedTuple):
    """One trial with its attempts in order; the last one's outcome is the trial's.

    `identity` is what makes it the same trial wherever it is read again. `levels` are the assigned
    factors that the source tells, `run` the job that it was part of: what was set for the whole of
    it was not set per trial.
    """

    identity: str
    task: Task
    entry: Entry
    band: Band
    levels: Levels
    run: str
    attempts: tuple[ForeignAttempt, ...]
