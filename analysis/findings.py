"""Every number that is printed, in one frozen value; names as statistics.md, section 11.

Everything comes from cell counts alone. A part that the counts cannot give is None, and `refused`
says why, in words. Estimates, errors and intervals are fractions; names that end in `_points` are
percentage points.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from .aa import AaResult
from .attribution import Attribution
from .bands import BandRow, bands
from .budget import NoiseBudget
from .calibrate import Calibration
from .cells import Cells
from .components import Components
from .crosscheck import Crosscheck
from .design_report import DesignReport
from .gaps import GapTable
from .heat_map import Tile, heat_map
from .heterogeneity import Heterogeneity
from .kill_replays import KillReplays
from .opening import opening
from .parts import Asked, Parts
from .ranks import Curve, Rank, RankChange, entries_of, rank_changes, ranks
from .shocks import RunShocks
from .split import Split
from .story import Story
from .trend import Trend


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the counts.

    Args:
        planned: trials planned, None where nobody knows.
        policies: entries that are seeded scripts, which no page may call models.
        oom_killed: trials the kernel killed for memory, by band; None where nobody knows.
        replays: of kills that were run again at a higher ceiling.
    """

    planned: int | None = None
    policies: tuple[str, ...] = ()
    oom_killed: Mapping[str, int] | None = None
    replays: tuple[KillReplays, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """What the counts say; see the module's head.

    `entries` holds each entry's own band report. `noise_budget` is on the same tasks,
    `noise_budget_new` on new ones. `arms` is there where the bands are arms of an A/A run.
    """

    opening: tuple[str, str]
    reference: str
    policies: tuple[str, ...]
    bands: tuple[BandRow, ...]
    splits: Mapping[str, Split]
    entries: tuple[Curve, ...]
    heat_map: tuple[Tile, ...]
    ranks: tuple[Rank, ...]
    rank_changes: tuple[RankChange, ...]
    trend: Trend | None
    heterogeneity: Heterogeneity | None
    components: Components | None
    attribution: Attribution | None
    runs: RunShocks | None
    noise_budget: NoiseBudget | None
    noise_budget_new: NoiseBudget | None
    ceiling: Calibration | None
    gaps: GapTable | None
    design: DesignReport | None
    crosscheck: Crosscheck | None
    arms: AaResult | None
    refused: Mapping[str, str]


def findings(cells: Cells, asked: Asked | None = None, known: Known | None = None) -> Findings:
    """Assemble every finding of these cells.

    Args:
        cells: counts by task, entry and band, and by every factor and wave that is asked for.
    Raises:
        DesignError: the cells lack one of those, or there is no such reference.
        SampleTooSmall: neither a trial nor a band that is waited for.
    """
    asked, known = asked or Asked(), known or Known()
    cells.require(*(f.name for f in asked.factors), *asked.waves)
    small = cells.by("task", "entry", "band")
    if not cells.levels["band"]:
        cells.require_trials()
    floor = cells.levels["band"][0] if asked.reference is None else asked.reference
    rows = bands(small, floor, margin=asked.margin)
    entries = entries_of(small)
    curves = tuple(
        Curve(e, bands(small.select(entry=e), floor, margin=asked.margin)) for e in entries
    )
    policies = tuple(name for name in entries if name in known.policies)
    story = Story(rows, floor, entries, policies, known.planned, known.oom_killed)
    parts = Parts(cells, small, rows, floor, asked, known.replays)
    attribution, runs = parts.attribution(), parts.runs()
    return Findings(
        opening=opening(story),
        reference=floor,
        policies=policies,
        bands=rows,
        splits=parts.splits(),
        entries=curves,
        heat_map=heat_map(small),
        ranks=ranks(curves),
        rank_changes=rank_changes(curves),
        trend=parts.trend(),
        heterogeneity=parts.heterogeneity(),
        components=parts.components(),
        attribution=attribution,
        runs=runs,
        noise_budget=parts.noise_budget(attribution, runs, "same"),
        noise_budget_new=parts.noise_budget(attribution, runs, "new"),
        ceiling=parts.ceiling(),
        gaps=parts.gaps(attribution),
        design=parts.design(),
        crosscheck=parts.crosscheck(),
        arms=parts.arms(),
        refused=parts.refused,
    )
