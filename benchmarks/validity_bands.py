"""Studies of bands: lifts, rates, components, bounds, splits, ceilings, sequences, A/A.

Every study takes a seeded generator and a number of replications, and returns rows.
"""

from typing import Any

import numpy as np
from validity_rows import AT_LEAST, AT_MOST, COVERAGE, SIZE, Row, bias, covers, finds, share
from validity_worlds import BANDS, Floats, World, as_cells, world

from infranoise.analysis.aa import judge_aa
from infranoise.analysis.bands import BandRow, bands
from infranoise.analysis.calibrate import calibrate
from infranoise.analysis.cells import Cells
from infranoise.analysis.cmh import cmh
from infranoise.analysis.components import components
from infranoise.analysis.gaps import compare
from infranoise.analysis.pairs import pairs
from infranoise.analysis.sequential import monitor, round_sd
from infranoise.analysis.split import split

CHECKED = ("3x", "uncapped")
Z95 = 1.959964


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


def bounds(rng: np.random.Generator, reps: int) -> list[Row]:
    """Intervals under missing outcomes, at both ends of what the data cannot tell apart."""
    truth = world(rng, entries=2)
    scores = truth.rate.mean(axis=(0, 2))
    killed = float(truth.errors.mean())
    ends = (float(scores[0] - scores[1]) - killed, float(scores[0] - scores[1]) + killed)
    lift = float(truth.scores[-1] - truth.scores[0])
    drop = float(truth.errors[0] - truth.errors[-1])
    gap_hits: list[tuple[bool, bool]] = []
    split_hits: list[tuple[bool, bool]] = []
    for _ in range(reps):
        cells = truth.run(rng, 5)
        gap = compare(cells, "0", "1")
        parts = split(cells, BANDS[-1], BANDS[0])
        gap_hits.append((covers(gap.bounds_ci, ends[0]), covers(gap.bounds_ci, ends[1])))
        split_hits.append((covers(parts.strategy_ci, lift - drop), covers(parts.strategy_ci, lift)))
    return [
        share("missing outcomes", f"{what} at its {end} bound", "Imbens-Manski interval",
              "coverage", [hit[at] for hit in hits], COVERAGE)
        for what, hits in (("gap of two entries", gap_hits), ("strategy part", split_hits))
        for at, end in enumerate(("lower", "upper"))
    ]  # fmt: skip


def kill_replay(rng: np.random.Generator, reps: int) -> list[Row]:
    """Rescue by replay, and by assuming that killed trials are like the others of their task."""
    truth = world(rng, entries=1)
    low, high = truth.kill[:, 0], truth.kill[:, -1]
    # Killed trials are worse than the others: they pass half as often when they are run again.
    again = 0.5 * truth.solve[:, 0, -1] * (1 - high / low)
    rescue = float(np.mean(low * again))
    found: dict[str, list[float]] = {"kill replay": [], "missing at random": []}
    hits = []
    for _ in range(reps):
        size, passed, infra = truth.counts(rng, 10)
        killed = infra[:, 0, 0]
        cells = as_cells(BANDS, size, passed, infra)
        kept = np.flatnonzero(killed)
        replays = Cells.of_counts(
            {"task": kept, "entry": np.zeros(kept.size, int)},
            n=killed[kept],
            passed=rng.binomial(killed[kept], again[kept]),
        )
        parts = split(cells, BANDS[-1], BANDS[0], replays)
        assert parts.replayed is not None
        assert parts.replayed.se_rescue_same is not None
        found["kill replay"].append(parts.replayed.rescue)
        found["missing at random"].append(parts.mar.rescue)
        half = Z95 * parts.replayed.se_rescue_same
        hits.append(abs(parts.replayed.rescue - rescue) <= half)
    return [
        bias("split of a lift", "rescue", "kill replay", found["kill replay"], rescue),
        bias("split of a lift", "rescue", "missing at random", found["missing at random"], rescue,
             None),
        share("split of a lift", "rescue", "kill replay +-1.96 SE", "coverage", hits, None),
    ]  # fmt: skip


def ceilings(rng: np.random.Generator, reps: int) -> list[Row]:
    """How often a ceiling is chosen that does not qualify, and how often the right one is."""
    rows = []
    article, edges = world(rng, entries=1), _edges(rng)
    for trials in (890, 3_560, 8_900, 17_800):
        study, samples = f"ceiling, {trials} trials a band", trials // 89
        runs = [article.run(rng, samples) for _ in range(reps)]
        chosen = [calibrate(cells).chosen for cells in runs]
        wrong = [c is not None and c != "3x" for c in chosen]
        silent = [_largest_not_significant(cells) in ("5x", "uncapped") for cells in runs]
        rows += [
            share(study, "3x is chosen", "both shown", "power", [c == "3x" for c in chosen], None),
            share(study, "another is chosen", "both shown", "false selection", wrong, AT_MOST),
            share(study, "lift above 3 points is chosen", "largest not significant",
                  "false selection", silent, None),
        ]  # fmt: skip
        for case, edge in edges.items():
            picked = [calibrate(edge.run(rng, samples)).chosen == "2x" for _ in range(reps)]
            rows.append(share(study, case, "both shown", "false selection", picked, AT_MOST))
    return rows


def _edges(rng: np.random.Generator) -> dict[str, World]:
    """Worlds in which 2x misses what it must show by nothing."""
    shared: dict[str, Any] = {"entries": 1, "bands": ("1x", "2x", "3x")}
    return {
        "lift exactly at the margin": world(
            rng, infra=(0.058, 0.01, 0.005), scores=(0.42, 0.45, 0.45), **shared
        ),
        "errors exactly at half": world(
            rng, infra=(0.058, 0.029, 0.005), scores=(0.42, 0.42, 0.42), **shared
        ),
    }


def _largest_not_significant(cells: Cells) -> str:
    """The rule that takes silence for equality, with the unpaired test."""
    reports = bands(cells)
    quiet = [r.band for r in reports if r.lift is not None and not finds(r.lift.p_naive)]
    return quiet[-1] if quiet else BANDS[0]


def sequences(rng: np.random.Generator, reps: int) -> list[Row]:
    """The monitor over 40 rounds: false alarms, false equivalence, and what it finds."""
    truth = world(rng, entries=1)
    within = float(np.mean(truth.rate[:, :, 0] * (1 - truth.rate[:, :, 0])))
    sigma = round_sd(within, truth.rate.shape[0])
    null, edge = truth.alike(), _edges(rng)["lift exactly at the margin"]
    quiet = [_monitored(null, rng, len(BANDS) - 1, sigma) for _ in range(reps)]
    loud = [_monitored(truth, rng, len(BANDS) - 1, sigma) for _ in range(reps)]
    margin = [_monitored(edge, rng, 1, sigma) for _ in range(reps)]
    peeked = [_peeked(null, rng, sigma) for _ in range(reps)]
    return [
        share("40 rounds, looked at each", "no lift", "confidence sequence", "size",
              [d == "difference" for d in quiet], AT_MOST),
        share("40 rounds, looked at each", "no lift", "peeking at 95 %", "size", peeked, None),
        share("40 rounds, looked at each", "lift at the margin", "confidence sequence",
              "false equivalence", [d == "equivalent" for d in margin], AT_MOST),
        share("40 rounds, looked at each", "lift uncapped", "confidence sequence", "power",
              [d == "difference" for d in loud], None),
    ]  # fmt: skip


def _rounds(truth: World, rng: np.random.Generator, at: int) -> Floats:
    draws = rng.random((40, 2, *truth.rate.shape[:2])) < truth.rate[:, :, [0, at]].transpose(
        2, 0, 1
    )
    means = draws.mean(axis=(2, 3))
    return np.asarray(means[:, 1] - means[:, 0])


def _monitored(truth: World, rng: np.random.Generator, at: int, sigma: float) -> str:
    return monitor(_rounds(truth, rng, at), margin=0.03, sigma=sigma).decision


def _peeked(null: World, rng: np.random.Generator, sigma: float) -> bool:
    t = np.arange(1, 41)
    means = np.cumsum(_rounds(null, rng, len(BANDS) - 1)) / t
    return bool(np.any(np.abs(means) > Z95 * sigma / np.sqrt(t)))


def a_a(rng: np.random.Generator, reps: int) -> list[Row]:
    """Two identical arms: single false alarms, and verdicts on a sound instrument."""
    truth = world(rng, entries=2)
    null = World(("A", "B"), truth.kill[:, [0, 0]], truth.solve[:, :, [0, 0]])
    found = []
    for _ in range(reps):
        size, passed, infra = null.counts(rng, 5)
        cells = as_cells(null.bands, size, passed, infra)
        found.append(judge_aa(cells, arm="band"))
    alarms = [test.false_alarm for f in found for test in f.tests]
    return [
        share("A/A", "each test", "same-task test", "size", alarms, SIZE),
        share("A/A", "instrument does not pass", "Holm over all tests", "rate",
              [not f.passes for f in found], AT_MOST),
    ]  # fmt: skip
