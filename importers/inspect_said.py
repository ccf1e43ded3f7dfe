"""What an Inspect log says of itself, beside what was read of it; and what it does not record."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..models.foreign import ForeignTrial
from ..models.source import Total
from .fields import count, number
from .inspect_eval import Eval
from .reading import Account


@dataclass(slots=True)
class Tally:
    """Counts over samples: `silent` have a score below 1 and no error or limit."""

    samples: int = 0
    errors: int = 0
    retried: int = 0
    silent: int = 0
    undeclared: int = 0
    _rewards: dict[str, list[float]] = field(default_factory=dict)

    def add(self, trial: ForeignTrial) -> None:
        """Count one sample."""
        last = trial.attempts[-1]
        mode, reward = last.mode, last.reward
        self.samples += 1
        self.errors += bool(mode) and not mode.startswith(("limit:", "unscored", "cancelled"))
        self.retried += len(trial.attempts) - 1
        self.silent += not mode and (reward or 0.0) < 1.0
        self.undeclared += not trial.levels
        if reward is not None:
            self._rewards.setdefault(trial.task.name, []).append(reward)

    def mean(self) -> float:
        """Mean over samples of their mean over epochs, of what was scored; 0 where nothing was."""
        means = [sum(rewards) / len(rewards) for rewards in self._rewards.values()]
        return sum(means) / len(means) if means else 0.0

    def __iadd__(self, other: "Tally") -> "Tally":
        for name in ("samples", "errors", "retried", "silent", "undeclared"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


def totals(head: Eval, tally: Tally) -> list[Total]:
    """The log's own totals beside ours; a log that was cut off states none."""
    logged = count(head.stated.get("logged_samples"))
    total = count(head.stated.get("total_samples"))
    completed = count(head.stated.get("completed_samples"))
    where = f"{head.task}, {head.run}"
    found = [
        Total(
            what=f"{where}: samples",
            theirs=total,
            ours=tally.samples,
            note=f"{logged:,} of them logged" if logged is not None else "",
        ),
        Total(
            what=f"{where}: samples without an error",
            theirs=completed,
            ours=tally.samples - tally.errors,
        ),
    ]
    accuracy = _accuracy(head)
    if accuracy is not None:
        found.append(
            Total(
                what=f"{where}: accuracy over scored samples",
                theirs=round(accuracy, 9),
                ours=round(tally.mean(), 9),
                note=f"samples with an error left out: {tally.errors:,}" if tally.errors else "",
            )
        )
    return found


def lacking(account: Account, seen: Tally, unfinished: int, invalidated: int) -> None:
    """Note what the logs cannot tell."""
    account.lacks(
        "OOM kills",
        "no kill counter is recorded: any of these samples, which were scored below 1 without an "
        "error, may have been killed for memory",
        seen.silent,
    )
    account.lacks(
        "samples with an error",
        "Inspect leaves them out of its accuracy, here they are scored three ways",
        seen.errors,
    )
    account.lacks(
        "retried samples",
        "of an attempt before the last only its error is kept, without clocks and scores",
        seen.retried,
    )
    account.lacks("logs cut off", "their evals did not end; what was logged is here", unfinished)
    account.lacks("logs marked invalid", "someone marked them so by hand", invalidated)
    account.lacks("samples at once", "max_samples and max_sandboxes were not set", seen.undeclared)
    account.lacks("floors, ceilings, enforcement, swap", "no limit of a sandbox is in the log")
    account.lacks("node, load, memory, CPU time, traffic", "nothing of the machine is in the log")
    account.lacks(
        "time apart from neighbours",
        "working_time leaves out waiting for rate limits, not contention on the host",
    )


def _accuracy(head: Eval) -> float | None:
    """The metric called accuracy or mean of the scorer that counts, over all its epochs."""
    scores = head.stated.get("scores")
    for score in scores if isinstance(scores, Sequence) else ():
        if not isinstance(score, dict) or score.get("name") != head.scorer:
            continue
        if score.get("reducer") not in (None, "mean"):
            continue
        metrics = score.get("metrics")
        for name in ("accuracy", "mean"):
            one = metrics.get(name) if isinstance(metrics, dict) else None
            if isinstance(one, dict):
                return number(one.get("value"))
    return None
