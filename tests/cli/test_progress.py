"""Live progress: on a terminal a table that moves, elsewhere a line now and then."""

import io
import re

import pytest
from rich.console import Console

from infranoise.cli.progress import RunProgress
from infranoise.models.ledger.ingest import Ingested
from infranoise.models.outcome import Outcome
from infranoise.models.trial import CellKey, TrialKey
from infranoise.scheduler.happened import Happened


def happened(band: str, verdict: str, cause: str = "") -> Happened:
    key = TrialKey(cell=CellKey(task="suite/one", entry="lean", band=band), sample=0)
    told = {"verdict": verdict, "cause": cause, "rule": "r", "version": 1}
    outcome = Outcome.model_validate(told)
    return Happened("e", key, Ingested("a", "t", outcome, True), None, None)


@pytest.fixture
def events() -> list[Happened]:
    return [
        happened("1x", "infra_error", "oom_killed"),
        happened("1x", "passed"),
        happened("3x", "failed", "wrong"),
    ]


def shown(events: list[Happened], *, terminal: bool) -> list[str]:
    console = Console(file=io.StringIO(), width=90, force_terminal=terminal, color_system=None)
    progress = RunProgress(console, done=1, total=12, bands=("1x", "3x"))
    with progress:
        for event in events:
            progress.happened(event)
    assert isinstance(console.file, io.StringIO)
    said = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())
    return [line.strip() for line in said.splitlines()]


def test_a_terminal_shows_every_band_in_a_row_of_its_own(events: list[Happened]) -> None:
    lines = shown(events, terminal=True)
    assert any(line.startswith("4/12 trials") and "1 oom_killed" in line for line in lines)
    assert "band  passed  failed  infra errors" in lines
    assert "1x         1       0             1" in lines
    assert "3x         0       1             0" in lines


def test_elsewhere_the_first_and_the_last_line_are_plain(events: list[Happened]) -> None:
    first, *_, last = shown(events, terminal=False)
    assert first == "starting the queue server and the worker"
    assert last.startswith("4/12 trials")
    assert last.endswith("infra errors: 1 oom_killed")
