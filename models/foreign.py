"""Trials that others ran, as an importer hands them to the ledger."""

from typing import NamedTuple

from .band import Band
from .conditions import Clocks, Conditions, Usage
from .entry import Entry
from .evidence import Evidence
from .origin import Origin
from .task import Task
from .waves import Levels


class ForeignAttempt(NamedTuple):
    """One execution, as far as its source tells."""

    evidence: Evidence
    conditions: Conditions
    usage: Usage
    clocks: Clocks
    origin: Origin


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
