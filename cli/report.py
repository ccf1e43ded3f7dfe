"""`report`: what a run found, as a page, a document, tables, and a few lines in the terminal."""

import json
import webbrowser
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine

from ..analysis.findings import Findings, findings
from ..analysis.findings_json import to_json
from ..analysis.read_ledger import only_experiment, read_study
from ..analysis.render.files import write_files
from ..analysis.render.terminal import findings_text
from ..analysis.run_facts import RunFacts, known, run_facts
from ..analysis.study_cells import study_cells
from ..models.errors import DesignError
from ..models.ledger.store import open_store
from .folder import LEDGER


def report(
    source: str, *, experiment: str | None, out: Path | None, as_json: bool, open_page: bool
) -> int:
    """Write the report of a run's folder or store; returns the exit code."""
    engine, folder = open_source(source)
    name = experiment or only_experiment(engine)
    page = write_report(engine, name, out or folder, Console(stderr=as_json), as_json=as_json)
    if open_page:
        webbrowser.open(page.resolve().as_uri())
    return 0


def write_report(
    engine: Engine, name: str, folder: Path, console: Console, *, as_json: bool
) -> Path:
    """Write the report of an experiment into a folder and print what it says; returns its page.

    With `as_json` the document goes to standard output, the rest to `console`.
    """
    study = read_study(engine, name)
    run = run_facts(study)
    found = findings(*study_cells(study), known(run))
    page = write_files(folder, found, run, study.attempts)
    show(console, found, run, as_json=as_json)
    console.print(f"report: {page}", soft_wrap=True, markup=False, highlight=False)
    return page


def show(console: Console, found: Findings, run: RunFacts | None, *, as_json: bool) -> None:
    """Print findings: the document on standard output, or tables on the console."""
    if as_json:
        print(json.dumps(to_json(found, run), indent=1, allow_nan=False))
    else:
        console.print(findings_text(found, run))


def open_source(source: str) -> tuple[Engine, Path]:
    """A store, and the folder where its report belongs.

    Args:
        source: a run's folder, a SQLite file, or a database address.
    Raises:
        DesignError: there is no such folder or file. LedgerError: it cannot be opened.
    """
    if "://" in source:
        return open_store(source), Path("infranoise-report")
    path = Path(source)
    store = path / LEDGER if path.is_dir() else path
    if not store.is_file():
        raise DesignError(
            f"{source}: no run here (looked for {store}); give a run's folder, a ledger file, or "
            "a database address such as postgresql://…"
        )
    return open_store(store), store.parent
