"""What `plan` prints: a plan in numbers. Effects and margins are points, times seconds."""

from dataclasses import asdict, dataclass
from itertools import combinations
from math import prod

from ..analysis.diagnosis import Diagnosis
from ..analysis.measured import Measured
from ..analysis.planned import diagnose_plan, planned_cells
from ..analysis.prospects import PlannedFactor, Prospect, prospects
from ..analysis.waves import plan_waves
from ..models.egress import FACTOR, egress_text
from ..models.experiment import Experiment
from ..scheduler.expense import Expense
from ..scheduler.outlook import Outlook
from ..scheduler.plan import Plan
from .settle import Settled

EFFECT = 0.05  # a wave-level effect worth planning for, when nobody names one
POINTS = 100.0
PER_WAVE = ("concurrency",)


@dataclass(frozen=True, slots=True)
class Noise:
    """What the sizes rest on: variances of fractions, but `shock_points` is an SD."""

    source: str
    within: float
    tau2: dict[str, float]
    shock_points: float | None
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class Contrast:
    """One `Prospect`, in points."""

    factor: str
    level: str
    vs: str
    unit: str
    detectable_points: float | None
    detectable_new_points: float | None
    margin_points: float
    provable_points: float | None
    samples_needed: int
    testable: bool


@dataclass(frozen=True, slots=True)
class WaveFactor:
    """A factor set per wave: how many waves there are, and how many it needs."""

    factor: str
    levels: int
    waves: int
    needed: int
    testable: bool
    reason: str


@dataclass(frozen=True, slots=True)
class DesignSummary:
    """What the design can tell apart; see `Diagnosis`."""

    aliased: list[str]
    gvif: dict[str, float | None]
    overlap: float
    overlap_by_factor: dict[str, float]
    waves: dict[str, int]


@dataclass(frozen=True, slots=True)
class Money:
    """What the models' APIs may cost, in US dollars; None where nothing is known to say so."""

    expected_usd: float | None
    most_usd: float | None
    budget_usd: float | None
    models: list[dict[str, str | int | float | None]]


@dataclass(frozen=True, slots=True)
class Summary:
    """A plan; `design` is None where nothing varies."""

    experiment: str
    runtime: str
    network: str
    allow: list[str]
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
    money: Money | None
    noise: Noise
    contrasts: list[Contrast]
    wave_factors: list[WaveFactor]
    design: DesignSummary | None
    left_out: list[dict[str, str]]


def summarise(
    settled: Settled,
    made: Plan,
    view: Outlook,
    spending: Expense,
    noise: Measured,
    margin: float,
) -> Summary:
    """The plan in numbers: pure. `margin` is of equivalence, a fraction."""
    experiment = made.experiment
    found = prospects(len(made.tasks), experiment.samples, planned_factors(made), noise, margin)
    diagnosis = diagnose_plan(planned_cells(made.trials), PER_WAVE)
    return Summary(
        experiment=experiment.name,
        runtime=experiment.pods.runtime,
        network=experiment.pods.network,
        allow=list(experiment.pods.allow),
        tasks=len(made.tasks),
        entries=[entry.name for entry in experiment.entries],
        bands=[band.name for band in experiment.bands],
        reference=experiment.reference.name,
        factors=_further(experiment),
        samples=experiment.samples,
        cells=made.cells,
        trials=sum(len(wave.trials) for wave in made.waves),
        waves=len(made.waves),
        slots=view.slots,
        longest_s=view.longest_s,
        expected_s=view.expected_s,
        money=_money(spending),
        noise=_noise(noise),
        contrasts=[_contrast(prospect) for prospect in found],
        wave_factors=_wave_factors(made, noise),
        design=None if diagnosis is None else _design(diagnosis),
        left_out=[{"task": m.task, "why": m.why} for m in settled.misfits if m.blocks],
    )


def planned_factors(made: Plan) -> list[PlannedFactor]:
    """Every factor of the plan with two levels or more, and its contrasts.

    Bands are compared with the reference, further factors with their first level, entries with
    each other.
    """
    experiment, entries = made.experiment, len(made.experiment.entries)
    further, floor = _further(experiment), experiment.reference.name
    per_band = prod(len(levels) for levels in further.values())
    per_task = per_band * len(experiment.bands)
    bands = [band.name for band in experiment.bands]
    rivals = tuple(combinations([entry.name for entry in experiment.entries], 2))
    factors = [
        PlannedFactor("band", tuple((b, floor) for b in bands if b != floor), per_band, entries),
        PlannedFactor("entry", rivals, per_task),
    ]
    for name, levels in further.items():
        pairs = tuple((level, levels[0]) for level in levels[1:])
        if name in PER_WAVE:  # one sample is a wave of every level
            size = len(made.waves[0].trials)
            factors.append(PlannedFactor(name, pairs, 1, entries, size))
        else:
            factors.append(PlannedFactor(name, pairs, per_task / len(levels), entries))
    return factors


def _further(experiment: Experiment) -> dict[str, list[str]]:
    """Assigned factors beside the band, with their levels."""
    factors = experiment.factors
    levels = {
        "concurrency": [f"{level:g}" for level in factors.concurrency],
        FACTOR: [egress_text(level) for level in factors.egress_mbps],
        "time_limit": [f"{level:g}" for level in factors.time_limit],
    }
    return {name: values for name, values in levels.items() if values}


def _money(found: Expense) -> Money | None:
    if not found.models:
        return None
    return Money(
        found.expected_usd,
        found.most_usd,
        found.budget_usd,
        [asdict(one) for one in found.models],
    )


def _noise(noise: Measured) -> Noise:
    shock = None if noise.shock is None else POINTS * noise.shock**0.5
    return Noise(noise.source, noise.within, dict(noise.tau2), shock, dict(noise.missing))


def _contrast(found: Prospect) -> Contrast:
    return Contrast(
        found.factor,
        found.level,
        found.vs,
        found.unit,
        _points(found.detectable_same),
        _points(found.detectable_new),
        POINTS * found.margin,
        _points(found.provable),
        found.samples_needed,
        found.testable,
    )


def _points(fraction: float | None) -> float | None:
    return None if fraction is None else POINTS * fraction


def _wave_factors(made: Plan, noise: Measured) -> list[WaveFactor]:
    found = []
    for name, levels in _further(made.experiment).items():
        if name not in PER_WAVE or len(levels) < 2:
            continue
        planned = plan_waves(
            name,
            len(levels),
            len(made.waves),
            effect=EFFECT,
            sd_shock=(noise.shock or 0.0) ** 0.5,
            within=noise.within,
            trials_per_wave=len(made.waves[0].trials),
        )
        found.append(
            WaveFactor(
                name,
                planned.levels,
                planned.waves,
                planned.needed,
                planned.testable,
                planned.reason,
            )
        )
    return found


def _design(found: Diagnosis) -> DesignSummary:
    return DesignSummary(
        list(found.aliased),
        dict(found.gvif),
        found.overlap,
        dict(found.overlap_by_factor),
        {factor: count.waves for factor, count in found.waves.items()},
    )
