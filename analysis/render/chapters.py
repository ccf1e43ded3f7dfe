"""The chapters of a report, in order."""

from ..findings import Findings
from ..run_facts import RunFacts
from .bands_chapter import bands_chapter
from .causes_chapter import causes_chapter
from .chapter import Chapter
from .run_chapters import (
    clocks_chapter,
    conditions_chapter,
    configuration_chapter,
    versions_chapter,
)
from .tasks_chapters import heat_chapter, rescued_chapter


def chapters(found: Findings, run: RunFacts | None = None) -> tuple[Chapter, ...]:
    """Every chapter that there is something for; those on the run only with one."""
    if run is None:
        return (bands_chapter(found), heat_chapter(found))
    return (
        bands_chapter(found),
        causes_chapter(run),
        heat_chapter(found),
        rescued_chapter(run.killed_then_passed),
        conditions_chapter(run),
        clocks_chapter(run),
        configuration_chapter(run),
        versions_chapter(run),
    )
