"""What the design that was run can tell apart, and the smallest effects that it can see."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..models.errors import DesignError, SampleTooSmall
from .balance import Balance, balance
from .bands import BandRow
from .budget import typical_design, within
from .cells import Cells
from .diagnosis import Diagnosis, diagnose
from .factor import Factor
from .power import MOST_WITHIN, Design, detectable_effect


@dataclass(frozen=True, slots=True)
class Detectable:
    """The smallest true lift between two bands that is found in four of five runs; fractions.

    `same` on these tasks, `new` on others like them; None where the counts cannot give it. It is
    for a complete design of so many `tasks`, `entries` and `samples`.
    """

    same: float | None
    new: float | None
    tasks: int
    entries: int
    samples: float


@dataclass(frozen=True, slots=True)
class DesignReport:
    """Aliasing, inflation, overlap, waves and balance of the factors; and the detectable effect.

    `observed` factors were not assigned.
    """

    diagnosis: Diagnosis
    mde: Detectable
    balance: tuple[Balance, ...] = ()
    observed: tuple[str, ...] = ()


def design_report(
    cells: Cells, factors: Sequence[Factor], rows: Sequence[BandRow], waves: Sequence[str] = ()
) -> DesignReport:
    """Diagnose the design of `factors`, and size a band contrast by what was measured.

    Raises:
        DesignError, SampleTooSmall: as `diagnose`.
    """
    return DesignReport(
        diagnose(cells, factors, waves=waves),
        detectable(cells, rows),
        balance(cells, factors),
        tuple(factor.name for factor in factors if factor.observed),
    )


def detectable(cells: Cells, rows: Sequence[BandRow]) -> Detectable:
    """The detectable effect at the tasks, entries and samples that were run.

    Within-task variance is measured, tau2 is the mean over the lifts that were seen, at least 0.
    """
    run = typical_design(cells)
    entries = len(cells.by("entry"))
    tau2s = [row.lift.tau2 for row in rows if row.lift and row.lift.tau2 is not None]
    try:
        w = min(within(cells), MOST_WITHIN)  # unbiased, so that few samples may overshoot
        same = detectable_effect(Design(run.tasks, w, entries), run.samples)
    except (DesignError, SampleTooSmall):  # no variance within cells to size by
        return Detectable(None, None, run.tasks, entries, run.samples)
    if not tau2s:
        return Detectable(same, None, run.tasks, entries, run.samples)
    tau2 = max(0.0, sum(tau2s) / len(tau2s))
    new = detectable_effect(Design(run.tasks, w, entries, tau2), run.samples)
    return Detectable(same, new, run.tasks, entries, run.samples)
