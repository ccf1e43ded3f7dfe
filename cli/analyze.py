"""`analyze`: every number on a table of trials that others made, or on a run of ours."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from ..analysis.api import analyze as analyze_table
from ..analysis.api import is_table
from ..analysis.factor import Factor
from ..analysis.findings import Findings, findings
from ..analysis.read_ledger import read_study
from ..analysis.render.files import write_files
from ..analysis.run_facts import RunFacts, known, run_facts
from ..analysis.study_cells import study_cells
from .report import open_source, show

POINTS = 100.0


def analyze(
    source: str,
    *,
    columns: Sequence[str],
    factors: Sequence[str],
    reference: str | None,
    margin_points: float,
    experiment: str | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Print the findings of a table, or of a run's folder or store; returns the exit code.

    Args:
        columns: pieces of `role=column,role=column`, for a table.
        factors: `NAME[:assigned=trial|wave:COLUMN|observed]` each.
        out: a folder to write the report into as well.
    """
    found, run = _found(source, columns, factors, reference, margin_points / POINTS, experiment)
    console = Console(stderr=as_json)
    if out is not None:
        page = write_files(out, found, run, title="" if run else Path(source).name)
        console.print(f"report: {page}", soft_wrap=True, markup=False, highlight=False)
    show(console, found, run, as_json=as_json)
    return 0


def _found(
    source: str,
    columns: Sequence[str],
    factors: Sequence[str],
    reference: str | None,
    margin: float,
    experiment: str | None,
) -> tuple[Findings, RunFacts | None]:
    if is_table(source):
        roles = ",".join(columns) or None
        found = analyze_table(
            source, columns=roles, factors=factors, reference=reference, margin=margin
        )
        return found, None
    engine, _ = open_source(source)
    study = read_study(engine, experiment)
    run = run_facts(study)
    more = [Factor.parse(text) for text in factors]
    cells, asked = study_cells(study, reference=reference, more=more, margin=margin)
    return findings(cells, asked, known(run)), run
