"""What Harbor says of its own jobs, beside what was read of them; and what it does not record."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.foreign import Facts, ForeignTrial
from ..models.source import Total
from .fields import count, number
from .harbor_trial import EARLY
from .json_bounded import Object
from .reading import Account


@dataclass(slots=True)
class Tally:
    """Counts over the trials that were read.

    `silent` are trials without a full reward of which Harbor reports nothing unusual, `late` those
    that passed after an agent timeout, `early` the agent timeouts that were none, `erased` the
    attempts that retries deleted, of which `lost` left not even a line in a log. Of the silent
    ones, `near_kills` ran while the kernel killed for memory on their node.
    """

    trials: int = 0
    excepted: int = 0
    reward_sum: float = 0.0
    silent: int = 0
    late: int = 0
    early: int = 0
    erased: int = 0
    lost: int = 0
    cut_off: int = 0
    stamped: int = 0
    near_kills: int = 0

    def add(self, trial: ForeignTrial) -> None:
        """Count one trial."""
        last = trial.attempts[-1]
        mode, reward = last.mode, last.reward
        self.trials += 1
        self.erased += len(trial.attempts) - 1
        self.excepted += bool(mode)
        self.reward_sum += reward or 0.0
        self.silent += not mode and (reward or 0.0) < 1.0
        self.late += mode == "AgentTimeoutError" and reward == 1.0
        self.early += mode == EARLY
        self.stamped += last.conditions["node_profile"] is not None
        self.near_kills += not mode and (reward or 0.0) < 1.0 and _kills(last.conditions) > 0

    def __iadd__(self, other: "Tally") -> "Tally":
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def totals(run: str, result: Object, tally: Tally) -> list[Total]:
    """The job's own totals beside ours.

    Args:
        run: the job's name. result: its `result.json`, empty where there is none.
    """
    raw = result.get("stats")
    stats = raw if isinstance(raw, dict) else {}
    completed = count(stats.get("n_completed_trials", stats.get("n_trials")))
    errored = count(stats.get("n_errored_trials", stats.get("n_errors")))
    cut_off = f"{tally.cut_off} folders hold no result" if tally.cut_off else ""
    return [
        Total(what=f"{run}: trials", theirs=completed, ours=tally.trials, note=cut_off),
        Total(what=f"{run}: trials with an exception", theirs=errored, ours=tally.excepted),
        Total(what=f"{run}: sum of rewards", theirs=_rewards(stats), ours=tally.reward_sum),
        Total(
            what=f"{run}: retries",
            theirs=count(stats.get("n_retries")),
            ours=tally.erased,
            note="as many as job.log names; their records were deleted" if tally.erased else "",
        ),
    ]


def lacking(account: Account, seen: Tally) -> None:
    """Note what Harbor's records cannot tell of these trials."""
    account.lacks(
        "OOM kills",
        "a process that the kernel killed for memory leaves reward 0 and no exception; these "
        "trials without a full reward look like wrong answers and any of them may be such a kill",
        seen.silent,
    )
    account.lacks(
        "whose OOM kills they were",
        "while these trials ran, the kernel killed for memory on their node; whether it killed in "
        "them or in a neighbour is not told, and they are read as wrong answers",
        seen.near_kills,
    )
    account.lacks(
        "agent timeouts that were none",
        "stored as agent timeouts, but the agent's time was not up: read as infrastructure errors",
        seen.early,
    )
    account.lacks(
        "work after the agent's time was up",
        "these trials passed although the agent had timed out; its processes live on while the "
        "verifier runs, so the answer may have come too late",
        seen.late,
    )
    account.lacks(
        "retried attempts",
        "a retry deletes the attempt before it; of these only the type of the exception is left, "
        "without clocks and rewards",
        seen.erased,
    )
    account.lacks(
        "retried attempts without a trace",
        "counted by the job, named in no log: nothing is known of them",
        seen.lost,
    )
    account.lacks(
        "trials cut off", "their folders hold no result; they are not counted", seen.cut_off
    )
    account.lacks(
        "limits in force",
        "floors, ceilings and swap were not read back; on docker a declared memory limit is hard "
        "and swap on top of it is left open",
    )
    account.lacks(
        "node, load and neighbours outside the job",
        "no hardware, kernel, pressure or host is recorded; load the infranoise plug-in while "
        "Harbor runs to have them",
        seen.trials - seen.stamped,
    )
    account.lacks("peak memory, CPU time, throttling, traffic", "no counter is recorded")
    account.lacks("random order", "trials start in a fixed order, so order goes with time")


def _rewards(stats: Mapping[str, object]) -> float | None:
    """Sum of rewards over all evals that have one kind of reward, or one called `reward`."""
    evals, total = stats.get("evals"), 0.0
    if not isinstance(evals, dict):
        return None
    for one in evals.values():
        rewards = one.get("reward_stats") if isinstance(one, dict) else None
        if not isinstance(rewards, dict) or not rewards:
            continue
        name = "reward" if "reward" in rewards else next(iter(rewards)) if len(rewards) == 1 else ""
        if not isinstance(rewards.get(name), dict):
            return None
        for value, names in rewards[name].items():
            if not isinstance(names, list):
                return None
            total += (number(_float(value)) or 0.0) * len(names)
    return total


def _kills(conditions: Facts) -> int:
    """OOM kills that a stamp's node counted between a trial's start and its end."""
    loads = (conditions["load_start"], conditions["load_end"])
    counts = [load.system_oom_kills if load else None for load in loads]
    before, after = counts
    return 0 if before is None or after is None else after - before


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
