"""What Terminal-Bench says of its own runs, beside what was read; and what it does not record."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..models.foreign import ForeignTrial
from ..models.source import Total
from .fields import count, number
from .json_bounded import Object
from .reading import Account
from .tb_run import Run

SILENCE = ("unset", "none", "")


@dataclass(slots=True)
class Tally:
    """Counts over trials: `missing` have no outcome, `silent` failed without a word, `late` passed
    after an agent timeout, `unlimited` ran under limits that nobody recorded, `resumed` in runs
    that were stopped and went on."""

    trials: int = 0
    resolved: int = 0
    missing: int = 0
    silent: int = 0
    late: int = 0
    undated: int = 0
    undeclared: int = 0
    unlimited: int = 0
    resumed: int = 0

    @classmethod
    def of(cls, trials: Iterable[ForeignTrial], *, resumed: bool = False) -> "Tally":
        """The counts over some trials, of a run that was `resumed` or not."""
        tally = cls()
        for trial in trials:
            tally._add(trial)
        tally.resumed = tally.trials if resumed else 0
        return tally

    def _add(self, trial: ForeignTrial) -> None:
        (only,) = trial.attempts
        reward, mode = only.reward, only.mode
        self.trials += 1
        self.resolved += reward == 1.0
        self.missing += reward is None
        self.silent += reward == 0.0 and mode in SILENCE
        self.late += reward == 1.0 and mode == "agent_timeout"
        self.undated += only.clocks["received_at"] is None
        self.undeclared += not trial.levels
        told = only.conditions
        self.unlimited += told["time_limit"] is None and told["agent_timeout_s"] is None

    def __iadd__(self, other: "Tally") -> "Tally":
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def totals(run: Run, raw: Object, tally: Tally) -> list[Total]:
    """The run's own totals beside ours; of a run met before there is nothing to compare."""
    if not tally.trials:
        return []
    where = f"{run.entry.name}, {run.name}"
    theirs = count(raw.get("n_resolved"))
    unresolved = count(raw.get("n_unresolved"))
    ours = tally.trials - tally.resolved
    note = f"{tally.missing} of them have no outcome" if tally.missing else ""
    return [
        Total(what=f"{where}: trials planned", theirs=run.planned, ours=tally.trials),
        Total(what=f"{where}: resolved", theirs=theirs, ours=tally.resolved),
        Total(what=f"{where}: unresolved", theirs=unresolved, ours=ours, note=note),
        Total(
            what=f"{where}: accuracy",
            theirs=number(raw.get("accuracy")),
            ours=tally.resolved / tally.trials,
        ),
    ]


def lacking(account: Account, seen: Tally) -> None:
    """Note what these results cannot tell."""
    account.lacks(
        "missing outcomes",
        "these trials ended without a verdict; the leaderboard counts them as failures, here they "
        "are infrastructure errors, scored three ways",
        seen.missing,
    )
    account.lacks(
        "OOM kills",
        "no kill counter is recorded: any of these trials, which failed without a failure mode, "
        "may have been killed for memory",
        seen.silent,
    )
    account.lacks(
        "work after the agent's time was up",
        "these trials were resolved although the agent had timed out; its processes may have "
        "worked on while the tests ran",
        seen.late,
    )
    account.lacks("dates and clocks", "results of an old version carry no times", seen.undated)
    account.lacks("concurrency", "their runs left no metadata", seen.undeclared)
    account.lacks("time limits", "their runs left no lock", seen.unlimited)
    account.lacks(
        "what was there before a run was resumed",
        "these runs were stopped and went on: some of their trials may have replaced others",
        seen.resumed,
    )
    account.lacks("floors, ceilings, enforcement, swap", "no limit is recorded")
    account.lacks("node, load, memory, CPU time, traffic", "nothing of the machine is recorded")
    account.lacks(
        "contents of tasks",
        "tasks are named, and at most the version of their dataset is known, with the harness's",
    )
