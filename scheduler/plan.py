"""From an experiment to trials and waves: pure, the same on every machine for one seed.

A wave is one sample of every cell that shares its wave-level levels. Inside it the unit is the
block: one task x entry in all its bands (and other trial-level levels), side by side in random
order; the order of blocks is random too. So a slow hour or a warm cache falls on all bands alike.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from ..models.entry import Entry
from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.limits import Limits
from ..models.spec import Spec
from ..models.task import Task
from ..models.trial import CellKey, TrialKey, trial_id
from ..models.waves import Levels, PlannedTrial, Wave


@dataclass(frozen=True, slots=True)
class Plan:
    """Every wave of an experiment, in the order in which they run."""

    experiment: Experiment
    tasks: tuple[Task, ...]
    waves: tuple[Wave, ...]

    @property
    def trials(self) -> Iterator[PlannedTrial]:
        """Every trial, in the order of dispatch."""
        return itertools.chain.from_iterable(wave.trials for wave in self.waves)

    @property
    def cells(self) -> int:
        """How many cells the plan fills."""
        return len({trial.key.cell for trial in self.trials})


def plan(experiment: Experiment, tasks: Sequence[Task]) -> Plan:
    """The waves of an experiment over these tasks.

    Raises:
        DesignError: no task is left, or a band cannot be computed for some task (all named).
    """
    if not tasks:
        raise DesignError(f"experiment {experiment.name}: no task is left to run")
    _check_limits(experiment, tasks)
    random = Random(f"waves\x00{experiment.seed}")
    levels = list(_wave_levels(experiment))
    ordered = [
        (sample, wave_levels)
        for sample in range(experiment.samples)
        for wave_levels in random.sample(levels, len(levels))
    ]
    waves, position = [], 0
    for number, (sample, wave_levels) in enumerate(ordered):
        wave = _wave(experiment, tasks, number, sample, wave_levels, position)
        position += len(wave.trials)
        waves.append(wave)
    return Plan(experiment, tuple(tasks), tuple(waves))


def spec_of(experiment: Experiment, task: Task) -> Spec:
    """A task's spec, undeclared resources taken from the experiment's `default_spec`."""
    return task.spec.or_default(experiment.pods.default_spec)


def limits_of(experiment: Experiment, task: Task, band: str) -> Limits:
    """Floors and ceilings of a task in a band of the experiment."""
    return next(b for b in experiment.bands if b.name == band).limits(spec_of(experiment, task))


def _check_limits(experiment: Experiment, tasks: Sequence[Task]) -> None:
    faults = []
    for task, band in itertools.product(tasks, experiment.bands):
        try:
            band.limits(spec_of(experiment, task))
        except (DesignError, ValueError) as error:
            faults.append(f"task {task.name}: {error}")
    if faults:
        shown = "\n  ".join(faults[:10])
        more = f"\n  … and {len(faults) - 10} more" if len(faults) > 10 else ""
        raise DesignError(f"experiment {experiment.name}: bands cannot be made:\n  {shown}{more}")


def _wave_levels(experiment: Experiment) -> Iterator[Levels]:
    concurrency = experiment.factors.concurrency
    yield from ((("concurrency", str(level)),) for level in concurrency) if concurrency else ((),)


def _trial_levels(experiment: Experiment) -> list[Levels]:
    limits = experiment.factors.time_limit
    return [(("time_limit", f"{level:g}"),) for level in limits] if limits else [()]


def _wave(
    experiment: Experiment,
    tasks: Sequence[Task],
    number: int,
    sample: int,
    levels: Levels,
    first: int,
) -> Wave:
    random = Random(f"wave\x00{experiment.seed}\x00{number}")
    blocks = list(itertools.product(tasks, experiment.entries))
    random.shuffle(blocks)
    keys = itertools.chain.from_iterable(
        _block(experiment, task, entry, sample, levels, random) for task, entry in blocks
    )
    return Wave(
        number,
        levels,
        tuple(
            PlannedTrial(trial_id(experiment.name, key), key, number, first + place)
            for place, key in enumerate(keys)
        ),
    )


def _block(
    experiment: Experiment, task: Task, entry: Entry, sample: int, levels: Levels, random: Random
) -> list[TrialKey]:
    keys = [
        TrialKey(
            cell=CellKey(
                task=task.name,
                entry=entry.name,
                band=band.name,
                levels=tuple(sorted(levels + trial_levels)),
            ),
            sample=sample,
        )
        for band in experiment.bands
        for trial_levels in _trial_levels(experiment)
    ]
    random.shuffle(keys)
    return keys
