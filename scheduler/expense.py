"""What a plan may cost in calls of models' APIs: pure.

Prices and expected tokens come from the experiment file, measured ones from an earlier run; nothing
is known here of what any model costs.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ..models.experiment import Experiment
from .plan import Plan


@dataclass(frozen=True, slots=True)
class ModelExpense:
    """One model's part of a plan, in US dollars; None: nothing is known to say so.

    `expected_usd` is what was measured per trial before, else what the file expects; `source` says
    which. `most_usd` is what the limits of an attempt let its trials cost, one attempt each.
    """

    model: str
    provider: str
    trials: int
    expected_usd: float | None
    most_usd: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Expense:
    """All of a plan's models; a sum is None where one of its parts is."""

    models: tuple[ModelExpense, ...]
    budget_usd: float | None

    @property
    def expected_usd(self) -> float | None:
        """What the plan is expected to cost."""
        return _sum([one.expected_usd for one in self.models])

    @property
    def most_usd(self) -> float | None:
        """What it can cost at most, retries apart."""
        return _sum([one.most_usd for one in self.models])


def expense(made: Plan, measured_usd: Mapping[str, float] | None = None) -> Expense:
    """The expense of a plan.

    Args:
        measured_usd: mean cost of a trial of an entry in an earlier run, by the entry's name.
    """
    experiment, before = made.experiment, measured_usd or {}
    entries = {entry.name: entry for entry in experiment.entries}
    trials = Counter(trial.key.cell.entry for trial in made.trials)
    parts: dict[str, list[ModelExpense]] = {}
    for name, count in trials.items():
        model = entries[name].model
        if model in experiment.models:
            parts.setdefault(model, []).append(
                _of_entry(experiment, model, count, before.get(name))
            )
    ordered = (_merged(parts[model]) for model in experiment.models if model in parts)
    return Expense(tuple(ordered), experiment.run.budget_usd)


def _of_entry(
    experiment: Experiment, model: str, trials: int, measured: float | None
) -> ModelExpense:
    served, each_usd = experiment.models[model], experiment.limits.usd
    told: float | None = None
    if served.price is not None and served.expected is not None:
        told = served.expected.cost_usd(served.price)
    expected = told if measured is None else measured
    source = "measured before" if measured is not None else "the file's expected tokens"
    return ModelExpense(
        model=model,
        provider=served.provider,
        trials=trials,
        expected_usd=None if expected is None else trials * expected,
        most_usd=None if each_usd is None else trials * each_usd,
        source=source if expected is not None else "",
    )


def _merged(parts: list[ModelExpense]) -> ModelExpense:
    first = parts[0]
    return ModelExpense(
        model=first.model,
        provider=first.provider,
        trials=sum(one.trials for one in parts),
        expected_usd=_sum([one.expected_usd for one in parts]),
        most_usd=_sum([one.most_usd for one in parts]),
        source=first.source,
    )


def _sum(parts: list[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
