"""Every number that is printed, in one frozen value; names as statistics.md, section 11.

Everything comes from cell counts alone. A part that the counts cannot give is None (or empty), and
`refused` says why, in words. Estimates, errors and intervals are fractions; names that end in
`_points` are percentage points.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from ..models.errors import DesignError, SampleTooSmall
from .bands import BandRow, bands
from .calibrate import Calibration, calibrate
from .cells import Cells
from .equivalence import MARGIN
from .gaps import GapTable, gaps
from .heat_map import Tile, heat_map
from .opening import opening
from .ranks import Curve, Rank, RankChange, entries_of, rank_changes, ranks
from .split import Split, split
from .story import Story


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the counts.

    Args:
        planned: trials planned, None where nobody knows.
        policies: entries that are seeded scripts, which no page may call models.
        oom_killed: trials the kernel killed for memory, by band; None where nobody knows.
    """

    planned: int | None = None
    policies: tuple[str, ...] = ()
    oom_killed: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Findings:
    """What the counts say; see the module's head. `entries` holds each entry's own band report."""

    opening: tuple[str, str]
    reference: str
    policies: tuple[str, ...]
    bands: tuple[BandRow, ...]
    splits: Mapping[str, Split]
    entries: tuple[Curve, ...]
    heat_map: tuple[Tile, ...]
    ranks: tuple[Rank, ...]
    rank_changes: tuple[RankChange, ...]
    ceiling: Calibration | None
    gaps: GapTable | None
    refused: Mapping[str, str]


def findings(
    cells: Cells,
    reference: str | None = None,
    *,
    margin: float = MARGIN,
    known: Known | None = None,
) -> Findings:
    """Assemble every finding of these cells.

    Args:
        cells: counts by task, entry and band, and any further factors.
        reference: the floor band; the first by default.
        margin: of equivalence, a fraction.
        known: facts beside the counts; see `Known`.
    Raises:
        DesignError: the cells lack task, entry or band, or there is no such reference.
    """
    known, refused = known or Known(), dict[str, str]()
    rows = bands(cells, reference, margin=margin)
    floor = cells.levels["band"][0] if reference is None else reference
    small = cells.by("task", "entry", "band")
    entries = entries_of(small)
    policies = tuple(name for name in entries if name in known.policies)
    curves = tuple(Curve(e, bands(small.select(entry=e), floor, margin=margin)) for e in entries)
    story = Story(rows, floor, entries, policies, known.planned, known.oom_killed)
    return Findings(
        opening=opening(story),
        reference=floor,
        policies=policies,
        bands=rows,
        splits=_splits(small, rows, floor, refused),
        entries=curves,
        heat_map=heat_map(small),
        ranks=ranks(curves),
        rank_changes=rank_changes(curves),
        ceiling=_tried("ceiling", refused, lambda: calibrate(small, margin=margin, floor=floor)),
        gaps=_tried("gaps", refused, lambda: gaps(small)),
        refused=refused,
    )


def _splits(
    cells: Cells, rows: Sequence[BandRow], floor: str, refused: dict[str, str]
) -> dict[str, Split]:
    """The split of every lift there is."""
    tried = {
        row.band: _tried(f"split of {row.band}", refused, partial(split, cells, row.band, floor))
        for row in rows
        if row.lift is not None
    }
    return {band: found for band, found in tried.items() if found is not None}


def _tried[T](part: str, refused: dict[str, str], make: Callable[[], T]) -> T | None:
    """A part, or None with the reason noted: other parts do not need it."""
    try:
        return make()
    except (DesignError, SampleTooSmall) as error:
        refused[part] = str(error)
        return None
