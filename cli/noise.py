"""What unmatched configurations are worth, by an experiment that varied them."""

from collections.abc import Iterable, Sequence

from ..analysis.findings import findings
from ..analysis.read_ledger import Study
from ..analysis.run_facts import known, run_facts
from ..analysis.side import Side
from ..analysis.study_cells import study_cells
from ..analysis.unmatched import Unmatched, unmatched
from ..models.errors import DesignError
from ..models.source import Source
from .sides import address_of, study_of


def noise_of(named: str | None, studies: Sequence[Study]) -> Unmatched | None:
    """By the experiment that is named, else by the results themselves where one of them varied its
    bands; None where nobody knows.

    Raises:
        DesignError: nothing varied in the experiment that was named.
    """
    candidates = [study_of(address_of(named))] if named else studies
    for study in candidates:
        if named or study.attempts["band"].n_unique() > 1:
            found = findings(*study_cells(study), known(run_facts(study)))
            if found.attribution is not None:
                return unmatched(found.attribution)
    if named:
        raise DesignError(
            f"--noise-from {named}: no factor varied there, so it tells nothing of what "
            "configurations are worth"
        )
    return None


def distinct_sources(sides: Iterable[Side]) -> tuple[Source, ...]:
    """What was imported, each tree once."""
    every = (source for side in sides for source in side.sources)
    return tuple({(s.kind, s.path, s.content_hash): s for s in every}.values())
