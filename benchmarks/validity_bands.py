"""Studies of bands: lifts, infra error rates, tests under no lift, components of a grid.

Every study takes a seeded generator and a number of replications, and returns rows.
"""

import numpy as np
from validity_rows import AT_LEAST, COVERAGE, SIZE, Z95, Row, bias, covers, finds, share
from validity_worlds import BANDS, Floats, World, world

from infranoise.analysis.bands import BandRow, bands
from infranoise.analysis.cmh import cmh
from infranoise.analysis.components import components
from infranoise.analysis.pairs import pairs

CHECKED = ("3x", "uncapped")


def same_tasks(rng: np.random.Generator, reps: int) -> list[Row]:
    """Would this repeat on the same tasks? Balanced designs, truth: these tasks."""
    rows: list[Row] = []
    for entries, samples in ((4, 5), (1, 5), (1, 10)):
        study, truth = f"balanced, {entries} x {samples}", world(rng, entries=entries)
        reports = [bands(truth.run(rng, samples)) for _ in range(reps)]
        for band in CHECKED:
            at = BANDS.index(band)
            lift = float(truth.scores[at] - truth.scores[0])
            rows += _lift_rows(study, band, [report[at] for report in reports], lift, "same")
        rows.append(_infra_rate(study, reports, truth))
        rows += _null_rows(study, truth.alike(), rng, samples, reps)
    return rows


def new_tasks(rng: np.random.Generator, reps: int) -> list[Row]:
    """Would it hold on other tasks? 89 tasks drawn anew each time, truth: all tasks."""
    rows: list[Row] = []
    for entries, samples in ((4, 5), (1, 10)):
        population = world(rng, tasks=20_000, entries=entries)
        reports = []
        for _ in range(reps):
            drawn = population.tasks(rng.integers(0, 20_000, 89))
            reports.append(bands(drawn.run(rng, samples)))
        for band in CHECKED:
            at = BANDS.index(band)
            lift = float(population.scores[at] - population.scores[0])
            study = f"new tasks, {entries} x {samples}"
            rows += _lift_rows(study, band, [report[at] for report in reports], lift, "new")
    return rows


def unbalanced(rng: np.random.Generator, reps: int) -> list[Row]:
    """Cells of 0 to 8 samples, and cells of one sample; truth: the strata that ran both bands."""
    rows: list[Row] = []
    designs = {
        "unbalanced, 0-8 samples": np.array([0, 2, 3, 5, 8]),
        "single samples": np.array([1]),
    }
    for study, sizes in designs.items():
        truth = world(rng)
        size = rng.choice(sizes, truth.solve.shape)
        reports = [bands(truth.run(rng, size)) for _ in range(reps)]
        for band in CHECKED:
            at = BANDS.index(band)
            lift = _true_lift(truth.rate, size, at)
            rows += _lift_rows(study, band, [r[at] for r in reports], lift, "same")
    return rows


def _true_lift(rate: Floats, size: np.ndarray, at: int) -> float:
    """Mean over entries, then tasks, of the strata that ran both bands."""
    shared = (size[:, :, at] > 0) & (size[:, :, 0] > 0)
    entries = shared.sum(axis=1)
    gap = np.where(shared, rate[:, :, at] - rate[:, :, 0], 0.0).sum(axis=1)
    return float(np.mean(gap[entries > 0] / entries[entries > 0]))


def _lift_rows(
    study: str, band: str, reports: list[BandRow], truth: float, target: str
) -> list[Row]:
    lifts = [report.lift for report in reports if report.lift is not None]
    what, same, new = f"lift {band}", target == "same", target == "new"
    wide = COVERAGE if study != "single samples" else AT_LEAST
    naive = [abs(lift.est - truth) <= Z95 * lift.se_naive for lift in lifts]
    return [
        bias(study, what, "contrast", [lift.est for lift in lifts], truth),
        share(study, what, "naive interval", "coverage", naive, None),
        share(study, what, "same-task interval", "coverage",
              [covers(lift.ci_same, truth) for lift in lifts], wide if same else None),
        share(study, what, "new-task interval", "coverage",
              [covers(lift.ci_new, truth) for lift in lifts], COVERAGE if new else None),
        share(study, what, "same-task test", "power", [finds(x.p_same) for x in lifts], None),
    ]  # fmt: skip


def _infra_rate(study: str, reports: list[tuple[BandRow, ...]], truth: World) -> Row:
    hits = [
        covers((row.infra_rate.lo, row.infra_rate.hi), truth.errors[BANDS.index("3x")])
        for row in (report[BANDS.index("3x")] for report in reports)
        if row.infra_rate is not None
    ]
    return share(study, "infra rate 3x", "Wilson interval", "coverage", hits, COVERAGE)


def _null_rows(
    study: str, null: World, rng: np.random.Generator, samples: int, reps: int
) -> list[Row]:
    """Size of the tests where all bands are the same."""
    found: dict[str, list[bool]] = {"naive": [], "same-task": [], "new-task": [], "CMH": []}
    for _ in range(reps):
        cells = null.run(rng, samples).select(band=[BANDS[0], BANDS[-1]])
        lift = bands(cells)[-1].lift
        assert lift is not None
        found["naive"].append(finds(lift.p_naive))
        found["same-task"].append(finds(lift.p_same))
        found["new-task"].append(finds(lift.p_new))
        found["CMH"].append(finds(cmh(pairs(cells, BANDS[-1], BANDS[0])).p))
    wanted = {"naive": None, "same-task": SIZE, "new-task": SIZE, "CMH": SIZE}
    return [share(study, "no lift", f"{method} test", "size", hits, wanted[method])
            for method, hits in found.items()]  # fmt: skip


def variance_components(rng: np.random.Generator, reps: int) -> list[Row]:
    """Components of a balanced grid, in squared points (1e-4 of a variance of fractions)."""
    truth = world(rng)
    expected = _true_components(truth.rate)
    found = [components(truth.run(rng, 5)).finite for _ in range(reps)]
    rows = []
    for effect, true in expected.items():
        corrected = [f.corrected[effect] for f in found if f.corrected is not None]
        slack = (-0.05 * true * 1e4 - 0.02, 0.05 * true * 1e4 + 0.02)
        rows += [
            bias("components, 4 x 5", effect, "plug-in", [f.plug_in[effect] for f in found], true,
                 None, 1e4, "bias (points^2)"),
            bias("components, 4 x 5", effect, "noise-corrected", corrected, true, slack, 1e4,
                 "bias (points^2)"),
        ]  # fmt: skip
    return rows


def _true_components(rate: Floats) -> dict[str, float]:
    mean = rate.mean()
    task, entry, band = rate.mean((1, 2)) - mean, rate.mean((0, 2)) - mean, rate.mean((0, 1)) - mean
    task_band = rate.mean(1) - mean - task[:, None] - band
    effects = {"task": task, "entry": entry, "band": band, "task:band": task_band}
    return {name: float(np.mean(effect**2)) for name, effect in effects.items()}
