"""`plan`: what an experiment would run, how long, and what it could show. Spends nothing."""

import json
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean

from rich.console import Console

from ..analysis.measured import Measured
from ..models.ledger.reading import attempts
from ..models.ledger.store import open_store
from ..scheduler.expense import expense
from ..scheduler.outlook import outlook
from ..scheduler.plan import plan as make_plan
from .asked_experiment import asked_experiment
from .earlier import noise_from
from .folder import LEDGER, RUNS
from .misfits import show_misfits
from .plan_text import show_plan
from .settle import settle
from .summary import POINTS, summarise


@dataclass(frozen=True, slots=True)
class Question:
    """What `plan` is asked beside the file.

    Args:
        power_from: earlier results to measure the noise from; `columns` name those of a table.
        margin_points: of equivalence.
    """

    runtime: str | None = None
    power_from: str | None = None
    columns: Sequence[str] = ()
    margin_points: float = 3.0


def plan(file: Path, asked: Question, *, as_json: bool) -> int:
    """Print the plan of an experiment file; returns the exit code.

    Raises:
        DesignError: the experiment or the earlier results are not as said.
        SampleTooSmall: the earlier results show no noise to plan with.
    """
    experiment, root = asked_experiment(file, asked.runtime)
    settled = settle(experiment, root, runtime=asked.runtime, environ=os.environ)
    if not settled.tasks:
        show_misfits(Console(stderr=True), settled, leave_out=False)
    made = make_plan(settled.experiment, settled.tasks)
    before = _measured(RUNS / experiment.name, experiment.name)
    view = outlook(made, os.cpu_count() or 1, before.wall_s)
    money = expense(made, before.usd)
    noise = noise_from(asked.power_from, asked.columns) if asked.power_from else Measured()
    summary = summarise(settled, made, view, money, noise, asked.margin_points / POINTS)
    if as_json:
        print(json.dumps(asdict(summary), indent=1, allow_nan=False))
    else:
        show_plan(Console(), summary)
    return 0


@dataclass(frozen=True, slots=True)
class _Before:
    """Means of an earlier run's attempts: wall seconds, and dollars by entry; empty if none ran."""

    wall_s: float | None = None
    usd: Mapping[str, float] = field(default_factory=dict)


def _measured(folder: Path, experiment: str) -> _Before:
    """What an attempt of this experiment took here before."""
    ledger = folder / LEDGER
    if not ledger.exists():
        return _Before()
    walls: list[float] = []
    usd: dict[str, list[float]] = defaultdict(list)
    for line in attempts(open_store(ledger), experiment):
        if line.record is None:
            continue
        if (wall_s := line.record.clocks.wall_s) is not None:
            walls.append(wall_s)
        if line.record.usage.cost_usd is not None:
            usd[line.entry].append(line.record.usage.cost_usd)
    return _Before(fmean(walls) if walls else None, {k: fmean(each) for k, each in usd.items()})
