"""Diagnosis of a design: what can be told apart, how well, and between how many waves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .absorbed import Column, Design, absorb
from .arrays import Floats
from .assignment import unit_of
from .cells import STRATUM, Cells
from .factor import Factor

INFLATED_ABOVE = 2.0


@dataclass(frozen=True, slots=True)
class WaveCount:
    """Waves that carry a factor constant within them; `testable` from eight on."""

    wave: str
    waves: int
    testable: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the design allows.

    Args:
        aliased: factors with an effect that cannot be told from others or from the strata;
            `aliased_levels` names the effects.
        gvif: factor -> GVIF^(1/(2 df)), how many times wider its intervals are than if it were
            balanced against everything else; None where aliased. Above 2 is inflated.
        overlap: share of strata in which every factor takes two levels or more;
            `overlap_by_factor` for each alone.
        waves: of the factors that are constant within waves.
        dropped_strata: strata in which no factor varies.
    """

    aliased: tuple[str, ...]
    aliased_levels: tuple[Column, ...]
    gvif: Mapping[str, float | None]
    overlap: float
    overlap_by_factor: Mapping[str, float]
    waves: Mapping[str, WaveCount]
    dropped_strata: int

    @property
    def inflated(self) -> tuple[str, ...]:
        """Factors whose intervals confounding at least doubles."""
        return tuple(f for f, g in self.gvif.items() if g is not None and g > INFLATED_ABOVE)


def diagnose(cells: Cells, factors: Sequence[Factor], *, waves: Sequence[str] = ()) -> Diagnosis:
    """Diagnosis of the joint design of `factors` within task x entry strata.

    Raises:
        DesignError: a factor or wave that the cells lack.
        SampleTooSmall: no stratum in which any factor varies.
    Source: Fox & Monette (1992), JASA 87:178-183, for the GVIF, as R's car::vif of the model with
        the strata as one more term.
    """
    names = [factor.name for factor in factors]
    named = dict.fromkeys([*(f.wave for f in factors if f.wave is not None), *waves])
    design = absorb(cells, names, clusters=list(named))
    units = {factor.name: unit_of(factor, design.cells, named) for factor in factors}
    lost = sorted(design.aliased, key=lambda column: (names.index(column.factor), column.level))
    overlap, by_factor = _overlap(cells, names)
    return Diagnosis(
        tuple(dict.fromkeys(column.factor for column in lost)),
        tuple(lost),
        {name: gvif(design, name) for name in names},
        overlap,
        by_factor,
        {f: WaveCount(u.wave, u.waves, u.testable) for f, u in units.items() if u is not None},
        design.dropped_strata,
    )


def gvif(design: Design, factor: str, *, within_strata: bool = False) -> float | None:
    """`GVIF^(1/(2 df))` of a factor given all other factors and the strata; None where aliased.

    Args:
        within_strata: leave out what correlation with the strata themselves costs.
    """
    mine = design.of(factor)
    if not mine or any(column.factor == factor for column in design.aliased):
        return None
    rest = [i for i in range(len(design.columns)) if i not in mine]
    own = design.gram[np.ix_(mine, mine)]
    beside = design.gram[np.ix_(mine, rest)]
    left = own - beside @ np.linalg.solve(design.gram[np.ix_(rest, rest)], beside.T)
    whole = own if within_strata else _total(design, mine)
    _, log_whole = np.linalg.slogdet(whole)
    _, log_left = np.linalg.slogdet(left)
    return float(np.exp((log_whole - log_left) / (2 * len(mine))))


def _total(design: Design, columns: Sequence[int]) -> Floats:
    """Gram matrix of a factor's indicators about their overall means, strata not absorbed."""
    cells, n = design.cells, design.cells.n
    shares = []
    for i in columns:
        column = design.columns[i]
        here = cells.codes[column.factor] == cells.index(column.factor, column.level)
        shares.append(n[here].sum() / n.sum())
    w = np.array(shares)
    total: Floats = n.sum() * (np.diag(w) - np.outer(w, w))
    return total


def _overlap(cells: Cells, names: Sequence[str]) -> tuple[float, dict[str, float]]:
    stratum, count = cells.strata(*STRATUM)
    varies = {}
    for name in names:
        both = stratum * len(cells.levels[name]) + cells.codes[name]
        present = np.unique(both) // len(cells.levels[name])
        varies[name] = np.bincount(present, minlength=count) > 1
    everywhere = np.logical_and.reduce(list(varies.values()))
    return float(everywhere.mean()), {name: float(v.mean()) for name, v in varies.items()}
