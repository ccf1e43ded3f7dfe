"""From an experiment to trials and waves: pure, the same on every machine for one seed.

A wave is one sample of every cell that shares its wave-level levels. Inside it the unit is the
block: one task x entry in all its bands (and other trial-level levels), side by side in random
order; the order of blocks is random too. So a slow hour or a warm cache falls on all bands alike.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import overload

from ..models.egress import FACTOR, egress_text
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
    def trial_count(self) -> int:
        """How many trials there are, without making them."""
        return sum(len(wave.trials) for wave in self.waves)

    @property
    def cells(self) -> int:
        """How many cells the plan fills: each as often as there are samples."""
        return self.trial_count // self.experiment.samples


type Block = tuple[CellKey, ...]
"""The cells of one task x entry at the levels of one wave: its bands and trial-level levels."""


@dataclass(frozen=True, slots=True)
class WaveTrials(Sequence[PlannedTrial]):
    """The trials of one wave, made when they are read, so that a million need not be held.

    Args:
        blocks: in the order of the experiment, not yet shuffled.
        first: the position of its first trial.
    """

    experiment: str
    seed: int
    number: int
    sample: int
    blocks: Sequence[Block]
    first: int

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def __iter__(self) -> Iterator[PlannedTrial]:
        random = Random(f"wave\x00{self.seed}\x00{self.number}")
        blocks = list(self.blocks)
        random.shuffle(blocks)
        position = itertools.count(self.first)
        for block in blocks:
            cells = list(block)
            random.shuffle(cells)
            for cell in cells:
                key = TrialKey(cell=cell, sample=self.sample)
                yield PlannedTrial(trial_id(self.experiment, key), key, self.number, next(position))

    @overload
    def __getitem__(self, index: int) -> PlannedTrial: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PlannedTrial, ...]: ...
    def __getitem__(self, index: int | slice) -> PlannedTrial | tuple[PlannedTrial, ...]:
        return tuple(self)[index]


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
    blocks = {wave_levels: _blocks(experiment, tasks, wave_levels) for wave_levels in levels}
    waves, position = [], 0
    for number, (sample, wave_levels) in enumerate(ordered):
        trials = WaveTrials(
            experiment.name, experiment.seed, number, sample, blocks[wave_levels], position
        )
        position += len(trials)
        waves.append(Wave(number, wave_levels, trials))
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
    """Every combination of the levels of the factors that are set per trial."""
    factors = experiment.factors
    levels: tuple[tuple[str, list[str]], ...] = (
        (FACTOR, [egress_text(level) for level in factors.egress_mbps]),
        ("time_limit", [f"{level:g}" for level in factors.time_limit]),
    )
    rows = [[(name, text) for text in texts] for name, texts in levels if texts]
    return list(itertools.product(*rows))


def _blocks(experiment: Experiment, tasks: Sequence[Task], levels: Levels) -> tuple[Block, ...]:
    """One block for each task x entry; cells are made once and shared by all their samples."""
    return tuple(
        tuple(
            CellKey(
                task=task.name,
                entry=entry.name,
                band=band.name,
                levels=tuple(sorted(levels + trial_levels)),
            )
            for band in experiment.bands
            for trial_levels in _trial_levels(experiment)
        )
        for task, entry in itertools.product(tasks, experiment.entries)
    )
