"""Attribution: which factor moves the score, by how much, and how sure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..models.errors import DesignError
from .absorbed import absorb
from .assignment import Unit, between_tasks, between_waves, unit_of
from .bootstrap import TaskBootstrap, task_bootstrap
from .cells import Cells
from .effects import Between, LevelEffect, level_effects
from .factor import Assignment, Factor
from .fit import Fit, fit
from .flags import Flag
from .grouping import compact
from .intervals import BOOTSTRAP_DRAWS
from .phi import Component, Quadratic, phi, quadratic
from .shapley import Share, shapley


@dataclass(frozen=True, slots=True)
class FactorRow:
    """One factor of a joint model: its levels, its variance component, its shares.

    Args:
        role: "observed" effects are associations. reference: the level others are measured against.
        component: on these tasks; of a factor set per wave, the noise between waves is subtracted.
        component_new: on tasks like these, interval by task bootstrap; None for one set per wave.
        by_task: variance between tasks of the factor's effects (phi of task:factor).
        alone, unique, lmg: see `Share`. waves: how many carry it, None if assigned per trial.
    """

    factor: str
    assignment: Assignment
    role: Literal["assigned", "observed"]
    reference: str
    levels: tuple[LevelEffect, ...]
    component: Component | None
    component_new: Component | None
    by_task: float | None
    alone: float | None
    unique: float | None
    lmg: float | None
    waves: int | None
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class Attribution:
    """All factors of one model and the data it stands on; strata without variation are dropped.

    `parameters` counts effects and strata, the K of CR1.
    """

    factors: tuple[FactorRow, ...]
    trials: int
    tasks: int
    strata: int
    dropped_strata: int
    parameters: int = 0


def attribute(
    cells: Cells,
    factors: Sequence[Factor],
    *,
    references: Mapping[str, str] | None = None,
    targets: Mapping[str, Mapping[str, float]] | None = None,
    waves: Sequence[str] = (),
    draws: int = BOOTSTRAP_DRAWS,
    seed: int = 0,
    confidence: float = 0.95,
) -> Attribution:
    """Attribute the score to factors, jointly, within task x entry strata.

    Args:
        factors: what varied, and how it was assigned.
        references: factor -> reference level, by default the first that was run.
        targets: factor -> level -> weight: the configurations among which a score is to be
            compared; by default all levels that were run, alike.
        waves: further factors that name waves; a factor that never changes within one is tested
            between them, whatever was declared.
        draws, seed: of the bootstrap over tasks. confidence: of every interval.
    Raises:
        DesignError: a factor, wave, reference or target level that the cells lack.
        SampleTooSmall: no stratum in which any factor varies.
    Source: statistics.md 3.3 to 3.6.
    """
    named = dict.fromkeys([*(f.wave for f in factors if f.wave is not None), *waves])
    names = [factor.name for factor in factors]
    if len(set(names)) < len(names):
        raise DesignError("each factor can be attributed to once")
    fitted = fit(absorb(cells, names, references=references, clusters=list(named)))
    tasks = compact(fitted.design.cells.codes["task"])[1]
    model = _Model(
        fitted,
        shapley(fitted, names),
        between_tasks(fitted) if tasks > 1 else None,
        task_bootstrap(fitted, draws=draws, seed=seed) if tasks > 1 else None,
        tasks,
        confidence,
    )
    rows = tuple(model.row(factor, named, (targets or {}).get(factor.name)) for factor in factors)
    design = fitted.design
    return Attribution(
        rows,
        design.trials,
        tasks,
        design.stratum_n.size,
        design.dropped_strata,
        design.parameters,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """What all rows share."""

    fit: Fit
    shares: Mapping[str, Share]
    tasks_apart: Between | None
    bootstrap: TaskBootstrap | None
    tasks: int
    confidence: float

    def row(
        self, factor: Factor, waves: Iterable[str], target: Mapping[str, float] | None
    ) -> FactorRow:
        design, name = self.fit.design, factor.name
        unit = unit_of(factor, design.cells, waves)
        between = self._between(name, unit)
        form = quadratic(self.fit, name, target)
        share = self.shares[name] if form is not None else None
        return FactorRow(
            factor=name,
            assignment=factor.assignment,
            role="observed" if factor.observed else "assigned",
            reference=design.references[name],
            levels=level_effects(self.fit, name, between, self.confidence),
            component=None if form is None else self._component(form, unit, between),
            component_new=None if form is None or unit else self._component_new(form),
            by_task=None if form is None else self._by_task(form),
            alone=share.alone if share else None,
            unique=share.unique if share else None,
            lmg=share.lmg if share else None,
            waves=unit.waves if unit else None,
            flags=self._flags(factor, unit, form, share),
        )

    def _between(self, factor: str, unit: Unit | None) -> Between | None:
        if unit is None:
            return self.tasks_apart
        return between_waves(self.fit, factor, unit) if unit.waves > 1 else None

    def _component(self, form: Quadratic, unit: Unit | None, between: Between | None) -> Component:
        """On these tasks; a factor set per wave moves with the shocks of its waves."""
        noise = self.fit.same if unit is None or between is None else between.covariance
        return phi(form, self.fit.effects, noise, self.confidence)

    def _component_new(self, form: Quadratic) -> Component | None:
        if self.tasks_apart is None or self.bootstrap is None:
            return None
        noise, _ = form.noise(self.tasks_apart.covariance)
        interval = self.bootstrap.interval(form, self.confidence)
        return Component.of(form.of(self.fit.effects) - noise, interval, None)

    def _by_task(self, form: Quadratic) -> float | None:
        if self.tasks_apart is None:
            return None
        apart, _ = form.noise(self.tasks_apart.covariance)
        same, _ = form.noise(self.fit.same)
        return self.tasks * (apart - same)

    def _flags(
        self, factor: Factor, unit: Unit | None, form: Quadratic | None, share: Share | None
    ) -> tuple[Flag, ...]:
        raised = (
            (Flag.ALIASED, form is None),
            (Flag.CONFOUNDED, share is not None and share.confounded),
            (Flag.ASSIGNMENT_LEVEL, unit is not None and not unit.declared),
            (Flag.NOT_TESTABLE, unit is not None and not unit.testable),
            (Flag.ASSOCIATION, factor.observed),
            (Flag.ONE_TASK, self.tasks < 2),
            (Flag.NO_SPREAD, not self.fit.trial_noise.any()),
        )
        return tuple(flag for flag, up in raised if up)
