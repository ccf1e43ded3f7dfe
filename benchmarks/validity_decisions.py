"""Studies of decisions: bounds, splits, ceilings, sequences, A/A.

Every study takes a seeded generator and a number of replications, and returns rows.
"""

from typing import Any

import numpy as np
from validity_rows import AT_MOST, COVERAGE, SIZE, Z95, Row, bias, covers, finds, share
from validity_worlds import BANDS, Floats, World, as_cells, world

from infranoise.analysis.aa import judge_aa
from infranoise.analysis.bands import bands
from infranoise.analysis.calibrate import calibrate
from infranoise.analysis.cells import Cells
from infranoise.analysis.gaps import compare
from infranoise.analysis.replayed import Replays
from infranoise.analysis.sequential import monitor, round_sd
from infranoise.analysis.split import split


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
        parts = split(cells, BANDS[-1], BANDS[0], Replays(replays))
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
