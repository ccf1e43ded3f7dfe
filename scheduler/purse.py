"""An experiment's money: how many more trials may begin within its budget. Pure.

An attempt under way is taken to cost all that it may (`limits.usd`), so that the budget is kept;
where an attempt has no limit of its own, what one has cost in the mean until now. Nothing is lost
when the budget is reached: what runs ends, and the rest is owed.
"""

from dataclasses import dataclass

from ..models.experiment import Experiment


@dataclass(slots=True)
class Purse:
    """What an experiment may spend and has spent.

    Args:
        spent_usd: what its calls have cost until now.
        ended: how many of its paid attempts have ended.
    """

    budget_usd: float | None
    each_usd: float | None
    spent_usd: float = 0.0
    ended: int = 0

    @classmethod
    def of(cls, experiment: Experiment, spent_usd: float = 0.0, ended: int = 0) -> "Purse":
        """The purse of an experiment."""
        return cls(experiment.run.budget_usd, experiment.limits.usd, spent_usd, ended)

    def affords(self, running: int) -> int | None:
        """How many more attempts may begin beside so many that run; None: any number.

        >>> Purse(10.0, 2.0, spent_usd=5.0).affords(running=1)
        1
        """
        if self.budget_usd is None:
            return None
        left_usd = self.budget_usd - self.spent_usd
        if left_usd <= 0:
            return 0
        each_usd = self.each_usd or (self.spent_usd / self.ended if self.ended else 0.0)
        if each_usd <= 0:
            return None  # nothing is known of what one costs: the first ones tell
        return max(0, int(left_usd / each_usd + 1e-9) - running)
