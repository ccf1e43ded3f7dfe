"""The simulation study with known truth, a twentieth of its replications."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
STUDIES = (
    "balanced",
    "new tasks",
    "unbalanced",
    "components",
    "missing outcomes",
    "split of a lift",
    "ceiling",
    "sequences",
    "A/A",
    "confounded",
    "fresh tasks",
    "wave shocks",
)


@pytest.fixture
def validity(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script; its parts lie beside it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("validity")


def test_every_study_is_listed_here(validity: ModuleType) -> None:
    assert tuple(validity.STUDIES) == STUDIES


@pytest.mark.parametrize("study", STUDIES)
def test_the_analysis_finds_the_truth_that_was_put_in(validity: ModuleType, study: str) -> None:
    rows = validity.run([study], seed=1, short=True)
    missed = [f"{r.quantity}, {r.method}: {r.measure} {r.value:.3f}" for r in rows if not r.ok]
    assert not missed


def test_the_same_seed_gives_the_same_rows(validity: ModuleType) -> None:
    assert validity.run(["A/A"], 3, short=True) == validity.run(["A/A"], 3, short=True)


def test_the_command_prints_a_table_and_writes_its_rows(
    validity: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "validity.json"
    assert validity.main(["--short", "--only", "A/A", "--out", str(out)]) == 0
    assert "2 rows, 0 missed" in capsys.readouterr().out
    written = json.loads(out.read_text())
    assert [row["ok"] for row in written["rows"]] == [True, True]
