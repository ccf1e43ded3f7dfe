"""The noise that earlier results showed: what the sizes of a new experiment rest on."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..models.errors import DesignError, SampleTooSmall
from .bands import bands
from .budget import within
from .cells import Cells
from .gaps import gaps
from .parts import Asked
from .power import MOST_WITHIN
from .shocks import run_shocks

WITHIN = 0.10  # E[p(1-p)] of Terminal-Bench 2.0 entries lies between .085 and .103


@dataclass(frozen=True, slots=True)
class Measured:
    """Variances of fractions, and where they come from.

    Args:
        within: w = E[p(1-p)] of one trial around its cell's rate.
        tau2: factor -> variance between tasks of a contrast of its levels, 0 or more; a factor that
            was not measured is missing.
        shock: variance that the trials of one wave share, 0 or more; None: not measured.
        source: "assumed", or the results' name.
        missing: what the results could not tell, and why.
    """

    within: float = WITHIN
    tau2: Mapping[str, float] = field(default_factory=dict)
    shock: float | None = None
    source: str = "assumed"
    missing: Mapping[str, str] = field(default_factory=dict)


def measure(cells: Cells, asked: Asked, source: str = "earlier results") -> Measured:
    """Measure within-cell variance, the spread of effects between tasks, and waves' shocks.

    Each is a mean over what the results compare: lifts of every band over the reference, gaps of
    every pair of entries, and the waves of the first factor that names some. An estimate below 0,
    which says that none was seen, counts as 0.

    Raises:
        DesignError: no such reference, or cells without task, entry and band.
        SampleTooSmall: no cell of two trials or more, or none whose trials ended differently.
    """
    small = cells.by("task", "entry", "band")
    w = within(small)
    if not w > 0.0:
        raise SampleTooSmall("all trials of every cell ended alike: there is no noise to plan with")
    missing: dict[str, str] = {}
    tau2: dict[str, float] = {}
    seen = {"band": _of_bands(small, asked.reference), "entry": _of_entries(small)}
    for factor, values in seen.items():
        if values:
            tau2[factor] = max(0.0, float(np.mean(values)))
        else:
            missing[factor] = f"too few tasks or samples to tell how {factor} effects vary by task"
    shock = None
    if asked.waves:
        try:
            shock = max(0.0, run_shocks(cells, asked.waves[0], asked.set_per_wave).sigma2_run)
        except SampleTooSmall as error:
            missing["waves"] = str(error)
    return Measured(min(w, MOST_WITHIN), tau2, shock, source, missing)


def _of_bands(cells: Cells, reference: str | None) -> list[float]:
    rows = bands(cells, reference)
    return [row.lift.tau2 for row in rows if row.lift and row.lift.tau2 is not None]


def _of_entries(cells: Cells) -> list[float]:
    """`T (se_new^2 - se_same^2)` of every pair."""
    try:
        pairs = gaps(cells).pairs
    except DesignError:  # one entry has no gaps
        return []
    return [
        pair.tasks * (pair.se_new**2 - pair.se_same**2)
        for pair in pairs
        if pair.se_new is not None and pair.se_same is not None
    ]
