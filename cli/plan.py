"""`plan`: what an experiment would run, how long, and what it could detect. Spends nothing."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ..analysis.power import Design, detectable_effect
from ..analysis.waves import WavePlan, plan_waves
from ..models.experiment_file import load_experiment
from ..models.ledger.reading import attempts
from ..models.ledger.store import open_store
from ..scheduler.outlook import Outlook, outlook
from ..scheduler.plan import Plan
from ..scheduler.plan import plan as make_plan
from .folder import LEDGER, RUNS
from .settle import Settled, settle

WITHIN = 0.10  # E[p(1-p)] of Terminal-Bench 2.0 entries lies between .085 and .103
EFFECT = 0.05  # a wave-level effect worth planning for, when nobody names one


@dataclass(frozen=True, slots=True)
class Summary:
    """What `plan` prints. Effects are points; times are seconds."""

    experiment: str
    runtime: str
    tasks: int
    entries: list[str]
    bands: list[str]
    reference: str
    factors: dict[str, list[str]]
    samples: int
    cells: int
    trials: int
    waves: int
    slots: int
    longest_s: float
    expected_s: float | None
    within: float
    detectable_points: float
    wave_factors: list[dict[str, object]]
    aliased: list[str]
    left_out: list[dict[str, str]]


def plan(file: Path, *, runtime: str | None, as_json: bool) -> int:
    """Print the plan of an experiment file; returns the exit code."""
    experiment = load_experiment(file)
    cpus = os.cpu_count() or 1
    settled = settle(experiment, file.parent, runtime=runtime, environ=os.environ)
    made = make_plan(settled.experiment, settled.tasks)
    view = outlook(made, cpus, _measured_s(RUNS / experiment.name, experiment.name))
    summary = summarise(settled, made, view)
    console = Console()
    if as_json:
        console.print_json(json.dumps(asdict(summary)))
    else:
        _show(console, summary)
    return 0


def summarise(settled: Settled, made: Plan, view: Outlook) -> Summary:
    """The plan in numbers: pure."""
    experiment = made.experiment
    design = Design(len(made.tasks), WITHIN, entries=len(experiment.entries))
    per_cell = len(list(made.trials)) / (
        len(made.tasks) * len(experiment.entries) * len(experiment.bands)
    )
    factors = {
        name: [f"{level:g}" for level in levels]
        for name, levels in (
            ("concurrency", experiment.factors.concurrency),
            ("time_limit", experiment.factors.time_limit),
        )
        if levels
    }
    return Summary(
        experiment=experiment.name,
        runtime=experiment.pods.runtime,
        tasks=len(made.tasks),
        entries=[entry.name for entry in experiment.entries],
        bands=[band.name for band in experiment.bands],
        reference=experiment.reference.name,
        factors=factors,
        samples=experiment.samples,
        cells=made.cells,
        trials=sum(len(wave.trials) for wave in made.waves),
        waves=len(made.waves),
        slots=view.slots,
        longest_s=view.longest_s,
        expected_s=view.expected_s,
        within=WITHIN,
        detectable_points=100 * detectable_effect(design, per_cell),
        wave_factors=[
            {"factor": w.factor, "waves": w.waves, "testable": w.testable, "reason": w.reason}
            for w in _wave_plans(made)
        ],
        aliased=[] if len(experiment.bands) > 1 else ["only one band: no band effect to estimate"],
        left_out=[{"task": m.task, "why": m.why} for m in settled.misfits if m.blocks],
    )


def _wave_plans(made: Plan) -> list[WavePlan]:
    levels = made.experiment.factors.concurrency
    if len(levels) < 2:
        return []
    trials = len(made.waves[0].trials)
    return [
        plan_waves(
            "concurrency",
            len(levels),
            len(made.waves),
            effect=EFFECT,
            sd_shock=0.0,
            within=WITHIN,
            trials_per_wave=trials,
        )
    ]


def _measured_s(folder: Path, experiment: str) -> float | None:
    """Mean wall seconds of an attempt of this experiment here; None if it never ran here."""
    ledger = folder / LEDGER
    if not ledger.exists():
        return None
    records = (line.record for line in attempts(open_store(ledger), experiment))
    walls = [wall for record in records if record and (wall := record.clocks.wall_s) is not None]
    return sum(walls) / len(walls) if walls else None


def _show(console: Console, summary: Summary) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _lines(summary):
        table.add_row(name, value)
    console.print(f"[bold]{summary.experiment}[/bold] on {summary.runtime} pods")
    console.print(table)
    for left in summary.left_out:
        text = f"left out: {left['task']}: {left['why']}"
        console.print(text, style="red", markup=False, highlight=False)


def _lines(summary: Summary) -> list[tuple[str, str]]:
    bands = ", ".join(summary.bands)
    lines = [
        ("matrix", f"{summary.tasks} tasks x {len(summary.entries)} entries "
         f"x {len(summary.bands)} bands x {summary.samples} samples"),
        ("entries", ", ".join(summary.entries)),
        ("bands", f"{bands} (lifts are measured against {summary.reference})"),
        *[(name, ", ".join(levels)) for name, levels in summary.factors.items()],
        ("trials", f"{summary.trials:,} in {summary.cells:,} cells and {summary.waves} wave(s)"),
        ("time", _time(summary)),
        ("detectable", f"{summary.detectable_points:.1f} points between two bands on these tasks "
         f"(80 % power; within-task variance {summary.within:g} assumed)"),
    ]  # fmt: skip
    for factor in summary.wave_factors:
        lines.append((str(factor["factor"]), str(factor["reason"])))
    lines += [("note", text) for text in summary.aliased]
    return lines


def _time(summary: Summary) -> str:
    longest = f"at most {_hours(summary.longest_s)} by the tasks' time limits"
    if summary.expected_s is None:
        return f"{longest}, {summary.slots} at once; nothing was measured here yet"
    return f"about {_hours(summary.expected_s)} as measured here before, {longest}"


def _hours(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
