"""`run --until`: when a run has seen enough."""

import json
from dataclasses import dataclass, field, replace

from sqlalchemy import Engine

from ..analysis.cells import Cells
from ..analysis.json_values import json_value
from ..analysis.stopping import StopRule, stopping
from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.ledger.events import last_document, note
from ..models.ledger.reading import progress
from ..models.ledger.rounds import RoundCounts, round_counts
from ..scheduler.rounds import Stop

DECLARED = "looks declared"


def stop_rule(until: str | None, looks: int | None) -> StopRule:
    """The rule of `--until decided`, `--until margin=POINTS` and `--looks N`.

    Raises:
        DesignError: another text, or looks without a rule.
    """
    if until is None:
        raise DesignError("--looks declares when to look; say at what with --until decided")
    rule = StopRule(looks=looks)
    name, _, value = until.partition("=")
    if until == "decided":
        return rule
    if name != "margin":
        raise DesignError(f"--until {until}: write decided, or margin=POINTS such as margin=1.5")
    try:
        return replace(rule, margin=float(value) / 100.0)
    except ValueError as error:
        raise DesignError(f"--until {until}: {value!r} is no number of points") from error


@dataclass(slots=True)
class Monitor:
    """A judge of rounds that reads their counts from the ledger, each round once."""

    engine: Engine
    experiment: Experiment
    rule: StopRule
    _counts: list[RoundCounts] = field(default_factory=list)
    _read: int = 0

    @classmethod
    def declared(cls, engine: Engine, experiment: Experiment, rule: StopRule) -> "Monitor":
        """A judge whose rule stands in the ledger; declared looks cannot be changed later.

        Raises:
            DesignError: the rule could never stop this run, needs two bands, or other looks were
                declared before.
        """
        if len(experiment.bands) < 2:
            raise DesignError("--until watches lifts between bands; the experiment has one band")
        rule.check(experiment.samples)
        before = last_document(engine, experiment.name, DECLARED)
        looks = json.dumps({"looks": rule.looks})
        if rule.looks is not None and before not in (None, looks):
            raise DesignError(
                f"--looks {rule.looks}: this run declared {before} before it began, and looks that "
                "are changed on the way prove nothing"
            )
        if rule.looks is not None and before is None:
            if progress(engine, experiment.name)[0]:
                raise DesignError(
                    f"--looks {rule.looks}: trials of this run have outcomes already; looks are "
                    "declared before the first, so use --until without --looks"
                )
            note(engine, experiment.name, DECLARED, rule.words, looks)
        return cls(engine, experiment, rule)

    def __call__(self, complete: int) -> Stop | None:
        """Whether the first `complete` rounds are enough."""
        name = self.experiment.name
        self._counts += round_counts(self.engine, name, complete, after=self._read - 1)
        self._read = complete
        reference = self.experiment.reference.name
        found = stopping(
            cells_by_round(self._counts), reference, self.rule, self.experiment.samples
        )
        if found is None or not found.stop:
            return None
        return Stop(found.sentence, json.dumps(json_value(found), allow_nan=False))


def cells_by_round(counts: list[RoundCounts]) -> Cells:
    """Cells by task, entry, band and sample."""
    return Cells.of_counts(
        {
            "task": [row.task for row in counts],
            "entry": [row.entry for row in counts],
            "band": [row.band for row in counts],
            "sample": [row.sample for row in counts],
        },
        n=[row.n for row in counts],
        passed=[row.passed for row in counts],
        infra=[row.infra_errors for row in counts],
        reward_sum=[row.reward_sum for row in counts],
        reward_sumsq=[row.reward_sumsq for row in counts],
    )
