"""One attempt outside any experiment: what preflight asks of a node."""

import time

from ..models.entry import Entry
from ..models.experiment import Experiment
from ..models.ledger.attempts import Owed
from ..models.message import AttemptMessage
from ..models.task import Task
from ..models.trial import CellKey, TrialKey, trial_id
from .orders import order


def single(experiment: Experiment, task: Task, entry: Entry, band: str) -> AttemptMessage:
    """The message of one attempt of a task by an entry in a band, to be run now."""
    key = TrialKey(cell=CellKey(task=task.name, entry=entry.name, band=band), sample=0)
    now = time.time()
    owed = Owed(trial_id(f"{experiment.name}\x00{now}", key), wave=0, position=0, next_number=1)
    return order(experiment, {task.name: task}, owed, key, queued_at=now, now=now)
