"""A trial that others ran as the ledger keeps it: its id, its attempts with what they mean."""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from ... import __version__
from ..band import Band
from ..entry import Entry
from ..foreign import ForeignAttempt, ForeignTrial
from ..message import AttemptRecord
from ..outcome import Outcome
from ..task import Task
from ..trial import attempt_id
from ..waves import Levels
from .attempts import JUDGED
from .bulk import Row
from .foreign_json import as_json
from .foreign_judged import judged_facts

TOLD = ("id", "experiment", "trial", "number", "node", "state", "ended_at", "record")
ATTEMPTS = (*TOLD, *JUDGED)
RECORD = ATTEMPTS.index("record")


class ToldTrial(NamedTuple):
    """A trial as it is to be written: of its source nothing is left but what is.

    `attempts` are rows in the order of `ATTEMPTS`. `outcome` is the last attempt's, None where that
    is none and the trial is owed.
    """

    id: str
    identity: str
    task: Task
    entry: Entry
    band: Band
    levels: Levels
    run: str
    attempts: tuple[Row, ...]
    outcome: Outcome | None

    @property
    def accepted(self) -> str | None:
        """The id of the attempt whose outcome is the trial's."""
        return None if self.outcome is None else attempt_id(self.id, len(self.attempts))

    @property
    def texts(self) -> tuple[str, ...]:
        """The records of its attempts, in order."""
        return tuple([str(row[RECORD]) for row in self.attempts])

    def says(self, texts: Sequence[str]) -> bool:
        """Other records of the trial tell the same facts; where they were read does not count."""
        return self.texts == tuple(texts) or _facts(self.texts) == _facts(texts)


def told_trial(experiment: str, trial: ForeignTrial) -> ToldTrial:
    """A trial as an experiment keeps it."""
    identity, task, entry, band, levels, run, told = trial
    id_, rows, outcome = foreign_id(experiment, identity), list[Row](), None
    for number, attempt in enumerate(told, start=1):
        outcome, judgement = judged_facts(attempt.evidence)
        node, ended_at = attempt.conditions["node"], attempt.clocks["ended_at"]
        id_of_it, text = _record(experiment, id_, number, attempt)
        rows.append((id_of_it, experiment, id_, number, node, "ended", ended_at, text, *judgement))
    if outcome is not None and outcome.verdict == "cancelled":
        outcome = None
    return ToldTrial(id_, identity, task, entry, band, levels, run, tuple(rows), outcome)


def foreign_id(experiment: str, identity: str) -> str:
    """The id of an imported trial: 16 hex digits of its experiment and identity."""
    return hashlib.sha256(f"{experiment}\x00{identity}".encode()).hexdigest()[:16]


def _record(experiment: str, trial: str, number: int, attempt: ForeignAttempt) -> tuple[str, str]:
    """The id of an attempt and the text of its `AttemptRecord`, without making one."""
    id_ = attempt_id(trial, number)
    evidence, conditions, usage, clocks, origin = attempt
    return id_, as_json(
        {
            "version": 1,
            "attempt_id": id_,
            "trial_id": trial,
            "experiment": experiment,
            "number": number,
            "evidence": evidence,
            "conditions": conditions,
            "usage": usage,
            "clocks": clocks,
            "worker_version": __version__,
            "origin": origin,
        }
    )


def _facts(texts: Sequence[str]) -> list[object]:
    records = map(AttemptRecord.decode, texts)
    return [(record.evidence, record.clocks) for record in records]
