"""The noise budget of a benchmark score: its variance by source, at any design, in points."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .attribution import Attribution, FactorRow
from .cells import STRATUM, Cells
from .flags import Flag
from .intervals import Interval
from .phi import POINTS
from .shocks import RunShocks
from .strata import strata_by_level


@dataclass(frozen=True, slots=True)
class ScoreDesign:
    """How a score is made: a mean over tasks, samples of each, and entries.

    Raises:
        DesignError: tasks or entries below 1, or no samples.
    """

    tasks: int
    samples: float
    entries: int = 1

    def __post_init__(self) -> None:
        if self.tasks < 1 or self.samples <= 0 or self.entries < 1:
            raise DesignError(f"{self}: tasks and entries are 1 or more, samples above 0")

    @classmethod
    def parse(cls, text: str) -> "ScoreDesign":
        """The design of `tasks=89,samples=5[,entries=1]`.

        Raises:
            DesignError: another form, or a number out of range.

        >>> ScoreDesign.parse("tasks=89,samples=5")
        ScoreDesign(tasks=89, samples=5.0, entries=1)
        """
        given = dict(piece.partition("=")[::2] for piece in text.replace(" ", "").split(","))
        try:
            tasks, samples = int(given.pop("tasks")), float(given.pop("samples"))
            entries = int(given.pop("entries", "1"))
        except (KeyError, ValueError) as error:
            raise DesignError(f"{text!r}: write tasks=89,samples=5 or more, entries=1") from error
        if given:
            raise DesignError(f"{text!r}: there is no {next(iter(given))!r} in a score's design")
        return cls(tasks, samples, entries)


@dataclass(frozen=True, slots=True)
class BudgetLine:
    """One source of a score's variance.

    Args:
        source: "sampling", "task", "run", a factor, or "task:FACTOR".
        variance: it adds to the score, as a fraction squared; below 0 where the estimate is.
        sd_points: its root in points, 0 below 0. ci: of sd_points, None where there is none.
        share: of the score's variance, 0..1; a line below 0 counts as 0.
        trial_share: of the variance of a single trial, where the design does not enter.
    """

    source: str
    variance: float
    sd_points: float
    share: float
    ci: Interval | None
    trial_share: float | None
    flags: tuple[Flag, ...] = ()


@dataclass(frozen=True, slots=True)
class NoiseBudget:
    """All lines at one design; `sd_points` is the standard deviation of the whole score."""

    design: ScoreDesign
    target: Literal["same", "new"]
    lines: tuple[BudgetLine, ...]
    sd_points: float


@dataclass(frozen=True, slots=True)
class Source:
    """What one source adds to the variance of a score, before it is set beside the others.

    Args:
        trial: its variance in a single trial. score: its variance in the score.
        ci: of `score`.
    """

    name: str
    trial: float
    score: float
    ci: Interval | None = None
    flags: tuple[Flag, ...] = ()


def noise_budget(
    cells: Cells,
    attribution: Attribution,
    design: ScoreDesign | None = None,
    *,
    run: RunShocks | None = None,
    matched: Collection[str] = (),
    target: Literal["same", "new"] = "same",
) -> NoiseBudget:
    """The variance of a score by source.

    `E[p(1-p)]/(T K M) + sum phi_F + sum phi_tF/T + run`, and for new tasks the variance of task
    means over T. phi_F is that of new tasks, so that with phi_tF/T at the T that was run it adds up
    to the component on these tasks.

    Args:
        design: T, K, M; by default the tasks that were run, and the typical samples of one entry.
        run: shocks that runs share. matched: factors that both scores of a comparison
            share, and that therefore add nothing.
    Raises:
        SampleTooSmall: every cell of task, entry and band holds one sample; or one task, of which
            nothing follows for new ones.
    Source: Brennan (2001), Generalizability Theory, for the decision study; statistics.md 3.7.
    """
    at = design or typical_design(cells)
    if target == "new" and len(cells.by("task")) < 2:
        raise SampleTooSmall("one task says nothing about other tasks; run two or more")
    per_trial = within(cells)
    sources = [Source("sampling", per_trial, per_trial / (at.tasks * at.samples * at.entries))]
    for row in attribution.factors:
        if row.factor not in matched:
            sources += _of_factor(row, at)
    if run is not None:
        sources.append(Source("run", run.sigma2_run, run.sigma2_run))
    if target == "new":
        between = task_variance(cells)
        sources.append(Source("task", between, between / at.tasks))
    return replace(budget_of(sources, at, trial_variance(cells)), target=target)


def budget_of(
    sources: Sequence[Source], design: ScoreDesign, trial_variance: float | None = None
) -> NoiseBudget:
    """Set sources beside each other: roots in points, shares of their sum.

    Args:
        trial_variance: of a single trial, for `trial_share`.
    """
    total = sum(max(source.score, 0.0) for source in sources)
    lines = tuple(
        BudgetLine(
            source.name,
            source.score,
            _points(source.score),
            max(source.score, 0.0) / total if total > 0.0 else 0.0,
            Interval(_points(source.ci.lo), _points(source.ci.hi)) if source.ci else None,
            source.trial / trial_variance if trial_variance else None,
            source.flags,
        )
        for source in sources
    )
    return NoiseBudget(design, "same", lines, _points(total))


def within(cells: Cells) -> float:
    """E[p(1-p)], the mean variance of a trial in its cell of task, entry and band.

    Cells of one sample tell nothing and are left out.

    Raises:
        SampleTooSmall: there are no others.
    """
    by_band = cells.by(*STRATUM, *(("band",) if "band" in cells.levels else ()))
    known = by_band.where(by_band.n > 1)
    if len(known) == 0:
        raise SampleTooSmall("every cell holds one sample; sampling noise needs two or more")
    return float((known.n * known.noise()).mean())


def trial_variance(cells: Cells) -> float:
    """Variance of a trial drawn from all of them.

    Raises:
        SampleTooSmall: no trial.
    """
    cells.require_trials()
    trials = cells.n.sum()
    mean = cells.reward_sum.sum() / trials
    return float(cells.reward_sumsq.sum() / trials - mean * mean)


def task_variance(cells: Cells, factor: str = "band") -> float:
    """Variance between tasks of one entry's mean at one level, noise subtracted; 0 with one task.

    The mean over entries and levels of `var over tasks of p - mean of v`.
    """
    found = []
    for table in strata_by_level(cells, factor).values():
        for n, mean, noise in zip(table.n.T, table.mean.T, table.noise.T, strict=True):
            known = n > 1
            if np.count_nonzero(known) > 1:
                found.append(mean[known].var(ddof=1) - noise[known].mean())
    return float(np.mean(found)) if found else 0.0


def typical_design(cells: Cells) -> ScoreDesign:
    """The tasks that were run, one entry, and the median samples of a task, entry and band.

    Raises:
        SampleTooSmall: no trial.
    """
    cells.require_trials()
    by_band = cells.by(*STRATUM, *(("band",) if "band" in cells.levels else ()))
    return ScoreDesign(len(cells.by("task")), float(np.median(by_band.n)))


def _of_factor(row: FactorRow, design: ScoreDesign) -> list[Source]:
    flags = tuple(flag for flag in row.flags if flag in (Flag.ASSOCIATION, Flag.NOT_TESTABLE))
    main = row.component_new or row.component
    if main is None:
        return []
    sources = [Source(row.factor, main.phi, main.phi, main.ci, flags)]
    if row.component_new is not None and row.by_task is not None:
        by_task = row.by_task / design.tasks
        sources.append(Source(f"task:{row.factor}", row.by_task, by_task, None, flags))
    return sources


def _points(variance: float) -> float:
    return POINTS * sqrt(max(variance, 0.0))
