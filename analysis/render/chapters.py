"""The chapters of a report, in order: findings, then factors and gaps, then the run itself."""

from collections.abc import Iterator

from ..findings import Findings
from ..run_facts import RunFacts
from ..sources_alike import alike
from .arms_chapter import arms_chapter
from .bands_chapter import bands_chapter
from .budget_chapter import budget_chapter
from .causes_chapter import causes_chapter
from .ceiling_chapter import ceiling_chapter
from .chapter import Chapter
from .checks_chapter import crosscheck_chapter, design_chapter, refused_chapter
from .components_chapter import components_chapter
from .entries_chapter import entries_chapter
from .factors_chapter import factors_chapter
from .gaps_chapter import gaps_chapter
from .replays_chapter import replays_chapter
from .run_chapters import (
    clocks_chapter,
    conditions_chapter,
    configuration_chapter,
    versions_chapter,
)
from .runs_chapter import runs_chapter
from .stopped_chapter import stopped_chapter
from .tasks_chapters import heat_chapter, rescued_chapter
from .unrecorded import unrecorded_chapter


def chapters(found: Findings, run: RunFacts | None = None) -> tuple[Chapter, ...]:
    """Every chapter that there is something for; those on the run only with one."""
    return tuple(_chapters(found, run))


def _chapters(found: Findings, run: RunFacts | None) -> Iterator[Chapter]:
    if run is not None and run.sources:
        yield unrecorded_chapter(alike(run.sources))
    if found.arms is not None:
        yield arms_chapter(found.arms)
    if run is not None and run.stopped is not None:
        yield stopped_chapter(run.stopped)
    yield bands_chapter(found)
    if run is not None:
        yield causes_chapter(run)
    yield heat_chapter(found)
    if run is not None:
        yield rescued_chapter(run.killed_then_passed)
        if run.replays:
            yield replays_chapter(run.replays, found.splits)
    yield from _of_parts(found)
    if run is not None:
        yield conditions_chapter(run)
        yield clocks_chapter(run)
        yield configuration_chapter(run)
        yield versions_chapter(run)


def _of_parts(found: Findings) -> Iterator[Chapter]:
    if found.ceiling is not None:
        yield ceiling_chapter(found.ceiling)
    if found.attribution is not None:
        yield factors_chapter(found.attribution)
    if found.runs is not None:
        yield runs_chapter(found.runs)
    if found.noise_budget is not None:
        yield budget_chapter(found.noise_budget, found.noise_budget_new)
    if found.components is not None:
        yield components_chapter(found.components)
    if found.heterogeneity is not None and found.heterogeneity.flips:
        yield entries_chapter(found.heterogeneity)
    if found.gaps is not None:
        yield gaps_chapter(found.gaps, found.policies)
    if found.crosscheck is not None:
        yield crosscheck_chapter(found.crosscheck)
    if found.design is not None:
        yield design_chapter(found.design)
    if found.refused:
        yield refused_chapter(found.refused)
