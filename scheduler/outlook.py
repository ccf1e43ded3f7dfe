"""How long a plan may take: pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.task import Task
from ..models.trial import TrialKey
from .orders import agent_timeout_s
from .plan import Plan


@dataclass(frozen=True, slots=True)
class Outlook:
    """Wall seconds of a plan: what its time limits allow, and what was measured before.

    `longest_s` is the bound if every trial used up its agent's and verifier's clocks;
    `expected_s` is None while nothing was measured.
    """

    longest_s: float
    expected_s: float | None
    slots: int


def outlook(plan: Plan, slots: int, measured_s: float | None = None) -> Outlook:
    """The outlook of a plan on one node.

    Args:
        slots: trials in flight where a wave asks for no other number.
        measured_s: mean wall seconds of an attempt in an earlier run, if there was one.
    """
    tasks = {task.name: task for task in plan.tasks}
    longest_s, expected_s = 0.0, 0.0
    for wave in plan.waves:
        width = wave.concurrency or slots
        longest_s += sum(bound_s(plan, tasks, trial.key) for trial in wave.trials) / width
        expected_s += len(wave.trials) * (measured_s or 0.0) / width
    return Outlook(longest_s, None if measured_s is None else expected_s, slots)


def bound_s(plan: Plan, tasks: Mapping[str, Task], key: TrialKey) -> float:
    """Seconds that a trial's time limits allow its agent and its verifier."""
    task = tasks[key.cell.task]
    return agent_timeout_s(plan.experiment, task, key) + task.spec.verifier_timeout_s
