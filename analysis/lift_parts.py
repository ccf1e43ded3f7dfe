"""What both parts of a lift are made of: tables at two bands, and means over them."""

from dataclasses import dataclass

import numpy as np

from .arrays import Bools, Floats
from .cells import Cells
from .contrasts import spread_of_mean
from .strata import Strata, strata_by_level


@dataclass(frozen=True, slots=True)
class Parts:
    """A point for both parts with standard errors (same tasks, new tasks), as fractions."""

    rescue: float
    strategy: float
    se_rescue_same: float | None
    se_rescue_new: float | None
    se_strategy_same: float | None
    se_strategy_new: float | None


@dataclass(frozen=True, slots=True, eq=False)
class SplitTables:
    """Scores, infra errors, and scores of what was not killed, at both bands."""

    high: Strata
    low: Strata
    infra_high: Strata
    infra_low: Strata
    rest_high: Strata
    rest_low: Strata

    @classmethod
    def of(cls, cells: Cells, band: str, vs: str) -> "SplitTables":
        """The tables of a band and of the lower one that it is compared with."""
        scores, infra, rest = (
            strata_by_level(cells, measure=measure) for measure in ("strict", "infra", "excluded")
        )
        return cls(scores[band], scores[vs], infra[band], infra[vs], rest[band], rest[vs])

    @property
    def shared(self) -> Bools:
        """Strata that ran both bands; shape (tasks, entries)."""
        return self.high.run & self.low.run

    @property
    def singles(self) -> bool:
        """True if a cell of one sample shows no noise of its own."""
        return bool(np.any(self.shared & ((self.high.n < 2) | (self.low.n < 2))))

    def parts(
        self, rescue: Floats, rescue_noise: Floats, strategy: Floats, strategy_noise: Floats
    ) -> Parts:
        """Means over entries, then over tasks, with both errors; arguments (tasks, entries)."""
        (first, first_same, first_new) = self._mean(rescue, rescue_noise)
        (second, second_same, second_new) = self._mean(strategy, strategy_noise)
        return Parts(first, second, first_same, first_new, second_same, second_new)

    def _mean(self, values: Floats, noise: Floats) -> tuple[float, float | None, float | None]:
        entries = self.shared.sum(axis=1)
        kept = entries > 0
        by_task = np.where(self.shared, values, 0.0).sum(axis=1)[kept] / entries[kept]
        by_noise = np.where(self.shared, noise, 0.0).sum(axis=1)[kept] / entries[kept] ** 2
        same = None if self.singles else float(np.sqrt(by_noise.sum())) / by_task.size
        return float(by_task.mean()), same, spread_of_mean(by_task)
