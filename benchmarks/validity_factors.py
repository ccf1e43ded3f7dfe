"""Studies of factors: confounded observations, waves that share shocks, components of variance.

Every study takes a seeded generator and a number of replications, and returns rows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from validity_rows import COVERAGE, SIZE, Row, bias, covers, finds, share
from validity_worlds import Floats, world

from infranoise.analysis.attribution import Attribution, FactorRow, attribute
from infranoise.analysis.cells import Cells
from infranoise.analysis.factor import Factor

type Codes = np.ndarray[tuple[int], np.dtype[np.int64]]

# Logits of the levels: bands as in the calibrated world, then what a fleet adds.
EFFECTS: dict[str, tuple[float, ...]] = {
    "band": (0.0, 0.04, 0.08, 0.15, 0.33, 0.52),
    "node": (0.0, 0.0, -0.27),
    "hour": (0.0, -0.05, -0.15, -0.25, -0.22, -0.10),
    "concurrency": (0.0, -0.10, -0.21),
}
LEANS = 0.35  # SD between tasks of a level's effect, in parts of it
OBSERVED = [Factor("band", "trial"), Factor("node"), Factor("hour"), Factor("concurrency")]


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """A run of a fleet whose factors go along with each other: one row per cell.

    Args:
        codes: factor -> level of each cell, "task" and "entry" among them; shape (C,).
        n: trials per cell. ability: logit of each task x entry. lean: (T, levels) by factor.
    """

    codes: dict[str, Codes]
    n: Codes
    ability: Floats
    lean: dict[str, Floats]

    def rate(self, **fixed: int) -> Floats:
        """P(pass) of every cell, with some factors set to a level throughout."""
        task, entry = self.codes["task"], self.codes["entry"]
        logit = self.ability[task, entry]
        for factor in EFFECTS:
            level = np.full(task.size, fixed[factor]) if factor in fixed else self.codes[factor]
            logit = logit + self.lean[factor][task, level]
        return np.asarray(expit(logit))

    def truth(self, factor: str) -> Floats:
        """Average effect of each level against the first, over the trials that were run."""
        weights = self.n / self.n.sum()
        means = [weights @ self.rate(**{factor: k}) for k in range(len(EFFECTS[factor]))]
        return np.asarray(means) - means[0]

    def run(self, rng: np.random.Generator) -> Cells:
        """Draw every trial's outcome."""
        passed = rng.binomial(self.n, self.rate())
        hits = passed.astype(np.float64)
        return Cells(
            {name: tuple(map(str, range(int(c.max()) + 1))) for name, c in self.codes.items()},
            self.codes, self.n, passed, np.zeros_like(self.n), hits, hits,
        )  # fmt: skip


def fleet(
    rng: np.random.Generator, *, tasks: int = 89, entries: int = 4, samples: int = 5
) -> Fleet:
    """Node goes along with band, hour with entry, concurrency with node."""
    chances = _together(entries)
    size = np.full((tasks, 1, 1), samples)
    drawn = rng.multinomial(size, chances.reshape(*chances.shape[:2], -1))
    drawn = drawn.reshape(tasks, *chances.shape)
    names = ("task", "entry", *EFFECTS)
    codes = dict(zip(names, np.nonzero(drawn), strict=True))
    lean = {
        factor: np.asarray(logits) * (1.0 + LEANS * rng.standard_normal((tasks, len(logits))))
        for factor, logits in EFFECTS.items()
    }
    spread = 2.8 * rng.standard_normal((tasks, 1)) + 1.5 * rng.standard_normal((tasks, entries))
    return Fleet(codes, drawn[drawn > 0], spread - 0.8, lean)


def _together(entries: int) -> Floats:
    """P(node, hour, concurrency | entry, band), shape (entries, bands, nodes, hours, levels)."""
    node = np.array([[6, 3, 1], [5, 3, 2], [4, 4, 2], [3, 4, 3], [2, 4, 4], [1, 4, 5]]) / 10
    hour = 1.0 + 3.0 * (np.arange(6) % 4 == (np.arange(entries) % 4)[:, None])
    hour /= hour.sum(axis=1, keepdims=True)
    concurrency = np.array([[6, 3, 1], [3, 4, 3], [1, 3, 6]]) / 10
    return np.asarray(np.einsum("bn,eh,nc->ebnhc", node, hour, concurrency))


def confounded(rng: np.random.Generator, reps: int) -> list[Row]:
    """Observed factors: adjusted and marginal effects, and components; truth: these tasks."""
    made = fleet(rng)
    truth = {factor: made.truth(factor) for factor in EFFECTS}
    found, marginal = [], []
    for _ in range(reps):
        cells = made.run(rng)
        found.append(attribute(cells, OBSERVED, draws=19))
        marginal.append(_marginal(cells))
    rows = []
    for factor, level in (("band", 5), ("node", 2), ("hour", 3), ("concurrency", 2)):
        rows += _effect_rows("confounded", factor, level, found, truth[factor][level], "same")
        naive = [m[factor][level] for m in marginal]
        rows.append(bias("confounded", f"{factor} {level}", "marginal difference", naive,
                         float(truth[factor][level]), None))  # fmt: skip
    for factor in EFFECTS:
        rows += _component_rows("confounded", factor, found, float(np.var(truth[factor])), "same")
    return rows


def fresh_tasks(rng: np.random.Generator, reps: int) -> list[Row]:
    """Another 89 tasks each time: errors between tasks, bootstrap of components."""
    truth = {factor: fleet(rng, tasks=4_000, entries=1).truth(factor) for factor in EFFECTS}
    found = [attribute(fleet(rng).run(rng), OBSERVED, draws=399) for _ in range(reps)]
    rows = []
    for factor, level in (("band", 5), ("node", 2)):
        rows += _effect_rows("fresh tasks", factor, level, found, truth[factor][level], "new")
    for factor in EFFECTS:
        rows += _component_rows("fresh tasks", factor, found, float(np.var(truth[factor])), "new")
    return rows


def wave_shocks(rng: np.random.Generator, reps: int) -> list[Row]:
    """Concurrency set per wave, waves share a shock of 1.75 points; concurrency does nothing."""
    truth = world(rng, entries=1, bands=("1x", "3x"), infra=(0.05, 0.02), scores=(0.42, 0.44))
    factors = [Factor("band", "trial"), Factor("concurrency", "wave", "wave")]
    rows = []
    for waves in (6, 10, 20):
        runs = (_in_waves(truth.rate, waves, rng) for _ in range(reps))
        found = (attribute(cells, factors, draws=19) for cells in runs)
        tests = [_row(f, "concurrency").levels[0] for f in found]
        wanted = SIZE if waves >= 8 else None
        cover = COVERAGE if waves >= 8 else None
        study = f"shocks shared by {waves} waves"
        rows += [
            share(study, "no effect", "trial-level test", "size",
                  [finds(t.p_same) for t in tests], None),
            share(study, "no effect", "wave-level test", "size",
                  [finds(t.p) for t in tests], wanted),
            share(study, "no effect", "wave-level interval", "coverage",
                  [covers(t.ci, 0.0) for t in tests], cover),
        ]  # fmt: skip
    return rows


def _in_waves(rate: Floats, waves: int, rng: np.random.Generator) -> Cells:
    """Every task and band once in every wave; half the waves at either concurrency."""
    tasks, _, bands_run = rate.shape
    task, band, wave = (i.reshape(-1) for i in np.indices((tasks, bands_run, waves)))
    level = rng.permutation(np.arange(waves) % 2)
    shock = 0.0175 * rng.standard_normal(waves)
    passed = rng.binomial(1, np.clip(rate[task, 0, band] + shock[wave], 0.0, 1.0))
    hits = passed.astype(np.float64)
    codes = {"task": task, "entry": np.zeros_like(task), "band": band,
             "concurrency": level[wave], "wave": wave}  # fmt: skip
    levels = {name: tuple(map(str, range(int(code.max()) + 1))) for name, code in codes.items()}
    ones = np.ones_like(task)
    return Cells(levels, codes, ones, passed, np.zeros_like(task), hits, hits)


def _effect_rows(
    study: str, factor: str, level: int, found: list[Attribution], truth: float, target: str
) -> list[Row]:
    effects = [_row(a, factor).levels[level - 1] for a in found]
    what = f"{factor} {level}"
    same, new = target == "same", target == "new"
    return [
        bias(study, what, "adjusted effect", [e.est or 0.0 for e in effects], float(truth)),
        share(study, what, "same-task interval", "coverage",
              [covers(e.ci_same, truth) for e in effects], COVERAGE if same else None),
        share(study, what, "new-task interval", "coverage",
              [covers(e.ci, truth) for e in effects], COVERAGE if new else None),
    ]  # fmt: skip


def _component_rows(
    study: str, factor: str, found: list[Attribution], truth: float, target: str
) -> list[Row]:
    name = "component" if target == "same" else "component_new"
    parts = [getattr(_row(a, factor), name) for a in found]
    slack = (-0.25e4 * truth, 0.25e4 * truth)
    method = "chi-square interval" if target == "same" else "bootstrap interval"
    return [
        bias(study, f"phi of {factor}", "noise-corrected", [c.phi for c in parts], truth, slack,
             1e4, "bias (points^2)"),
        share(study, f"phi of {factor}", method, "coverage",
              [covers(c.ci, truth) for c in parts], COVERAGE),
    ]  # fmt: skip


def _row(found: Attribution, factor: str) -> FactorRow:
    return next(row for row in found.factors if row.factor == factor)


def _marginal(cells: Cells) -> dict[str, Floats]:
    """Score of each level less that of the first, whatever else differed."""
    means = {}
    for factor in EFFECTS:
        small = cells.by(factor)
        means[factor] = small.rate() - small.rate()[0]
    return means
