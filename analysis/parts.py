"""The parts of the findings, each made by itself: one that the counts refuse stops no other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..models.errors import DesignError, SampleTooSmall
from .aa import AaResult, judge_aa
from .attribution import Attribution, attribute
from .bands import BandRow
from .budget import NoiseBudget, ScoreDesign, noise_budget
from .calibrate import Calibration, calibrate
from .cells import Cells
from .components import Components, components
from .crosscheck import Crosscheck, crosscheck
from .design_report import DesignReport, design_report
from .equivalence import MARGIN
from .factor import Factor
from .gaps import GapTable, gaps
from .heterogeneity import Heterogeneity, heterogeneity
from .kill_replays import KillReplays, replays_at
from .shocks import RunShocks, run_shocks
from .split import Split, split
from .trend import Trend, trend
from .unmatched import unmatched

BAND = Factor("band", "trial")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of the counts beside the bands.

    Args:
        reference: the floor band; the first by default.
        factors: further factors, and how each was assigned; the band is always one, randomised by
            trial unless it is named here.
        waves: factors of the cells that name waves or runs.
        margin: of equivalence, a fraction.
        arms: the two bands are arms of an A/A run, alike but for their names.
        budget_at: the design of the score whose noise is budgeted; by default the one that was run.
    """

    reference: str | None = None
    factors: tuple[Factor, ...] = ()
    waves: tuple[str, ...] = ()
    margin: float = MARGIN
    arms: bool = False
    budget_at: ScoreDesign | None = None

    @property
    def modelled(self) -> tuple[Factor, ...]:
        """All factors of the joint model, the band first."""
        named = {factor.name for factor in self.factors}
        return self.factors if "band" in named else (BAND, *self.factors)

    @property
    def set_per_wave(self) -> tuple[str, ...]:
        """Factors that were set for the waves of the first wave factor as a whole."""
        return tuple(f.name for f in self.factors if f.wave in self.waves[:1])


@dataclass(frozen=True, slots=True)
class Parts:
    """Makes parts on demand; `refused` collects why one cannot be had.

    Args:
        cells: by every factor. small: the same by task, entry and band.
        rows: the band report. floor: its reference.
        replays: what kill replays there were; see `kill_replays`.
    """

    cells: Cells
    small: Cells
    rows: Sequence[BandRow]
    floor: str
    asked: Asked
    replays: Sequence[KillReplays] = ()
    refused: dict[str, str] = field(default_factory=dict)

    def splits(self) -> Mapping[str, Split]:
        """The split of every lift there is, by band."""
        lifted = [row.band for row in self.rows if row.lift is not None]
        tried = {band: self._split(band) for band in lifted}
        return {band: found for band, found in tried.items() if found is not None}

    def _split(self, band: str) -> Split | None:
        """With its replays where every kill has one, else without."""
        replays = replays_at(self.replays, self.floor, band)
        if replays is not None:
            part = f"kill replay at {band}"
            found = self._tried(part, split, self.small, band, self.floor, replays)
            if found is not None:
                return found
        return self._tried(f"split of {band}", split, self.small, band, self.floor)

    def arms(self) -> AaResult | None:
        """Whether two identical arms look alike; None where there are none."""
        if not self.asked.arms:
            return None
        wave = self.asked.waves[0] if self.asked.waves else None
        return self._tried(
            "arms",
            lambda: judge_aa(self.cells, arm="band", run=wave, apart=self.asked.set_per_wave),
        )

    def heterogeneity(self) -> Heterogeneity | None:
        """Entry by band."""
        return self._tried("heterogeneity", heterogeneity, self.small, self.floor)

    def components(self) -> Components | None:
        """Variance components of task, entry and band."""
        return self._tried("components", components, self.small)

    def attribution(self) -> Attribution | None:
        """All factors in one model; one that never changed is refused by name."""
        for factor in self.asked.factors:
            if len(self.cells) and not self._varies(factor.name):
                level = self.cells.levels[factor.name][self.cells.codes[factor.name][0]]
                self.refused[f"factor {factor.name}"] = (
                    f"{factor.name} has one level, {level!r}: there is nothing to compare it with"
                )
        return self._tried(
            "factors",
            lambda: attribute(
                self.cells,
                [f for f in self.asked.modelled if self._varies(f.name)],
                references={"band": self.floor} if self._varies("band") else {},
                waves=self.asked.waves,
            ),
        )

    def runs(self) -> RunShocks | None:
        """What a run's trials share; of the first wave factor, None where there is none."""
        if not self.asked.waves:
            return None
        return self._tried(
            "runs", run_shocks, self.cells, self.asked.waves[0], self.asked.set_per_wave
        )

    def noise_budget(
        self, found: Attribution | None, run: RunShocks | None, target: Literal["same", "new"]
    ) -> NoiseBudget | None:
        """The score's noise by source: by sampling alone where no factor could be attributed to."""
        part = "noise budget" if target == "same" else "noise budget on new tasks"
        factors = found or Attribution((), 0, 0, 0, 0)
        return self._tried(
            part,
            lambda: noise_budget(self.cells, factors, self.asked.budget_at, run=run, target=target),
        )

    def ceiling(self) -> Calibration | None:
        """The ceiling to pin."""
        return self._tried(
            "ceiling",
            lambda: calibrate(self.small, margin=self.asked.margin, floor=self.floor),
        )

    def gaps(self, found: Attribution | None) -> GapTable | None:
        """Gaps between entries, against what unmatched configurations would do."""
        apart = unmatched(found)
        return self._tried("gaps", lambda: gaps(self.small, phi=apart.phi, spread=apart.spread))

    def design(self) -> DesignReport | None:
        """What the design can tell apart."""
        factors = [f for f in self.asked.modelled if self._varies(f.name)]
        return self._tried(
            "design",
            lambda: design_report(self.cells, factors, self.rows, self.asked.waves),
        )

    def trend(self) -> Trend | None:
        """The trends over bands."""
        return self._tried("trend", trend, self.small)

    def crosscheck(self) -> Crosscheck | None:
        """Every lift by other methods."""
        return self._tried("crosscheck", crosscheck, self.small, self.floor)

    def _varies(self, factor: str) -> bool:
        codes = self.cells.codes[factor]
        return bool(codes.size and codes.min() != codes.max())

    def _tried[**P, T](
        self, part: str, make: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        if not len(self.small):
            self.refused[part] = "no trial has an outcome yet"
            return None
        try:
            return make(*args, **kwargs)
        except (DesignError, SampleTooSmall) as error:
            self.refused[part] = str(error)
            return None
