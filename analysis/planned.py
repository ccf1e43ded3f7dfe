"""A plan as cells, so that its design is diagnosed as that of results would be."""

from collections import Counter
from collections.abc import Iterable

from ..models.errors import SampleTooSmall
from ..models.waves import PlannedTrial
from .cells import Cells
from .diagnosis import Diagnosis, diagnose
from .factor import Factor

WAVE = "wave"


def planned_cells(trials: Iterable[PlannedTrial]) -> Cells:
    """Cells by task, entry, band, every other assigned factor, and wave; none has passed yet."""
    counts = Counter((trial.key.cell, trial.wave) for trial in trials)
    rows = [
        {
            "task": cell.task,
            "entry": cell.entry,
            "band": cell.band,
            **dict(cell.levels),
            WAVE: str(wave),
        }
        for cell, wave in counts
    ]
    names = list(rows[0]) if rows else ["task", "entry", "band", WAVE]
    return Cells.of_counts(
        {name: [row[name] for row in rows] for name in names},
        n=list(counts.values()),
        passed=[0] * len(rows),
    )


def diagnose_plan(cells: Cells, per_wave: Iterable[str]) -> Diagnosis | None:
    """Aliasing, inflation, overlap and waves of what a plan varies; None where nothing varies.

    Args:
        cells: see `planned_cells`. per_wave: factors whose level is set for a whole wave.
    """
    set_per_wave = set(per_wave)
    varied = [
        name
        for name in cells.factors
        if name not in ("task", "entry", WAVE) and len(set(cells.codes[name].tolist())) > 1
    ]
    factors = [
        Factor(name, "wave", WAVE) if name in set_per_wave else Factor(name, "trial")
        for name in varied
    ]
    if not factors:
        return None
    try:
        return diagnose(cells, factors, waves=(WAVE,))
    except SampleTooSmall:  # what varies does so between tasks alone
        return None
