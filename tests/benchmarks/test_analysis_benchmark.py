"""The speed benchmark of the analysis: its data, its contestants, its targets."""

import importlib
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def analysis(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The driver script; its parts lie beside it."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("analysis")


@pytest.fixture
def contestants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The contestants' script."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("analysis_contestants")


def test_ours_gives_one_answer_from_rows_counts_and_files(
    analysis: ModuleType, contestants: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "trials.parquet"
    assert analysis.trials(path, samples=2) == 89 * 4 * 6 * 2
    assert pl.read_csv(path.with_suffix(".csv")).equals(
        pl.read_parquet(path).cast(pl.Int64), null_equal=False
    )
    names = (analysis.COUNTS, analysis.ROWS, analysis.PARQUET)
    found = [contestants.CONTESTANTS[name](path) for name in names]
    assert found[0]["effect"] == pytest.approx(found[1]["effect"], abs=1e-9)
    assert found[0]["effect"] == pytest.approx(found[2]["effect"], abs=1e-9)
    assert found[2]["peak_mib"] > 0


def test_targets_are_ratios_at_least_and_limits_at_most(analysis: ModuleType) -> None:
    def used(size: str, name: str, cpu_s: float, peak_mib: float | None = None) -> object:
        return analysis.Result(size, 1, name, cpu_s, 0.0, "points", peak_mib)

    held = analysis.targets(
        [
            used("10k", analysis.ROWS, 0.02),
            used("10k", analysis.LMER, 4.0),
            used("10k", analysis.OLS, 0.2),
            used("10M", analysis.PARQUET, 0.5, 600.0),
        ]
    )
    assert {(t.what.split(",")[0], t.met) for t in held} == {
        ("lmer", True),
        ("statsmodels OLS + cluster / ours", False),
        ("CPU s of ours", True),
        ("peak MiB from Parquet", False),
    }


def test_results_and_targets_are_printed(analysis: ModuleType) -> None:
    results = [
        analysis.Result("10k", 10_680, analysis.ROWS, 0.02, 5.0, "points"),
        analysis.Result("10k", 10_680, analysis.OLS, 1.0, 5.0, "points"),
    ]
    used, kept = analysis.table(results, analysis.targets(results))
    assert used.row_count == 2
    assert list(kept.columns[3].cells) == ["ok"]
