"""`analyze`: every number on a table of trials that others made, or on a run of ours."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from ..analysis.api import is_table, question
from ..analysis.budget import ScoreDesign
from ..analysis.cells import Cells
from ..analysis.factor import Factor
from ..analysis.findings import findings
from ..analysis.parts import Asked
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
    arms: bool = False,
    budget_at: str | None = None,
) -> int:
    """Print the findings of a table, or of a run's folder or store; returns the exit code.

    Args:
        columns: pieces of `role=column,role=column`, for a table.
        factors: `NAME[:assigned=trial|wave:COLUMN|observed]` each.
        out: a folder to write the report into as well.
        arms: the two bands are identical arms. budget_at: `tasks=…,samples=…[,entries=…]` of the
            score whose noise is budgeted; by default as it was run.
    """
    margin = margin_points / POINTS
    cells, asked, run = _question(source, columns, factors, reference, margin, experiment)
    at = ScoreDesign.parse(budget_at) if budget_at else None
    asked = replace(asked, arms=arms or asked.arms, budget_at=at)
    found = findings(cells, asked, known(run) if run else None)
    console = Console(stderr=as_json)
    if out is not None:
        page = write_files(
            out,
            found,
            run,
            title="" if run else Path(source).name,
            cells=None if run else cells,
        )
        console.print(f"report: {page}", soft_wrap=True, markup=False, highlight=False)
    show(console, found, run, as_json=as_json)
    return 0


def _question(
    source: str,
    columns: Sequence[str],
    factors: Sequence[str],
    reference: str | None,
    margin: float,
    experiment: str | None,
) -> tuple[Cells, Asked, RunFacts | None]:
    if is_table(source):
        roles = ",".join(columns) or None
        return (*question(source, roles, factors, reference, margin), None)
    engine, _ = open_source(source)
    study = read_study(engine, experiment)
    more = [Factor.parse(text) for text in factors]
    return (*study_cells(study, reference=reference, more=more, margin=margin), run_facts(study))
