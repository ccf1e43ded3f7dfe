"""One contestant of the analysis benchmark, in a process of its own; prints one line of JSON.

    python analysis_contestants.py NAME trials.parquet

Imports stand inside the contestants, so that each pays, in memory, for its own libraries alone.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infranoise.analysis.cells import Cells
    from infranoise.analysis.columns import Columns

FACTORS = ("band", "node", "hour", "concurrency")
REPEATS = 7
REPEAT_WITHIN_S = 3.0


def ours_from_counts(path: Path) -> dict[str, float | str]:
    """All factors, components and contrasts, from cell counts."""
    from infranoise.analysis.read import read_table

    cells = read_table(path, _columns())
    return _timed(lambda: _analysed(cells))


def ours_from_rows(path: Path) -> dict[str, float | str]:
    """The same with rows in memory collapsed first: what the peers start from."""
    import polars as pl

    from infranoise.analysis.collapse import collapse

    rows = pl.read_parquet(path).lazy()
    return _timed(lambda: _analysed(collapse(rows, _columns(), seekable=True)))


def ours_from_parquet(path: Path) -> dict[str, float | str]:
    """The same with the file read and collapsed; its peak memory too."""
    from infranoise.analysis.read import read_table

    found = _timed(lambda: _analysed(read_table(path, _columns())))
    return {**found, "peak_mib": _peak_mib()}


def ours_band_report(path: Path) -> dict[str, float | str]:
    """Scores, lifts and equivalence of every band, from (task, entry, band) counts."""
    from infranoise.analysis.bands import bands
    from infranoise.analysis.read import read_table

    cells = read_table(path, _columns()).by("task", "entry", "band")

    def report() -> float:
        lift = bands(cells)[-1].lift
        assert lift is not None
        return lift.est

    return _timed(report)


def statsmodels_ols(path: Path) -> dict[str, float | str]:
    """Least squares with a dummy per task x entry, errors clustered by task."""
    import statsmodels.formula.api as smf

    rows = _frame(path)
    formula = "passed ~ C(band) + C(node) + C(hour) + C(concurrency) + C(stratum)"
    clusters = {"groups": rows["task"]}
    return _timed(lambda: _last_band(
        smf.ols(formula, rows).fit(cov_type="cluster", cov_kwds=clusters)))  # fmt: skip


def statsmodels_mixedlm(path: Path) -> dict[str, float | str]:
    """A random intercept per task x entry."""
    import statsmodels.formula.api as smf

    rows = _frame(path)
    formula = "passed ~ C(band) + C(node) + C(hour) + C(concurrency)"
    return _timed(lambda: _last_band(smf.mixedlm(formula, rows, groups=rows["stratum"]).fit()))


def statsmodels_gee(path: Path) -> dict[str, float | str]:
    """Estimating equations, working independence, clusters by task."""
    import statsmodels.formula.api as smf

    rows = _frame(path)
    formula = "passed ~ C(band) + C(node) + C(hour) + C(concurrency) + C(entry)"
    return _timed(lambda: _last_band(smf.gee(formula, "task", rows).fit()))


CONTESTANTS: dict[str, Callable[[Path], dict[str, float | str]]] = {
    "ours, from counts": ours_from_counts,
    "ours, from rows": ours_from_rows,
    "ours, from Parquet": ours_from_parquet,
    "ours, band report": ours_band_report,
    "statsmodels OLS + cluster": statsmodels_ols,
    "statsmodels MixedLM": statsmodels_mixedlm,
    "statsmodels GEE": statsmodels_gee,
}


def _columns() -> "Columns":
    from infranoise.analysis.columns import Columns

    factors = {name: name for name in FACTORS[1:]}
    return Columns(task="task", entry="entry", band="band", passed="passed", factors=factors)


def _analysed(cells: "Cells") -> float:
    """Four factors with both errors, shares and 999 bootstraps; exact components; five lifts."""
    from infranoise.analysis.attribution import attribute
    from infranoise.analysis.bands import bands
    from infranoise.analysis.components import components
    from infranoise.analysis.factor import Factor

    found = attribute(cells, [Factor("band", "trial"), *(Factor(name) for name in FACTORS[1:])])
    small = cells.by("task", "entry", "band")
    components(small)
    bands(small)
    effect = found.factors[0].levels[-1].est
    assert effect is not None
    return effect


def _frame(path: Path) -> Any:
    import pandas as pd  # type: ignore[import-untyped]
    import polars as pl

    columns = pl.read_parquet(path)
    rows = pd.DataFrame({name: columns[name].to_numpy() for name in columns.columns})
    rows["stratum"] = rows["task"] * (rows["entry"].max() + 1) + rows["entry"]
    return rows.sort_values("task", kind="stable").reset_index(drop=True)


def _last_band(fitted: Any) -> float:
    return float(fitted.params.filter(like="C(band)").iloc[-1])


def _peak_mib() -> float:
    """Peak resident memory of this process; getrusage would inherit that of its parent."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _timed(work: Callable[[], float]) -> dict[str, float | str]:
    """Least CPU seconds of this process (all its threads); short work is repeated."""
    used: list[float] = []
    while not used or (sum(used) < REPEAT_WITHIN_S and len(used) < REPEATS):
        start = time.process_time()
        effect = work()
        used.append(time.process_time() - start)
    return {"cpu_s": min(used), "effect": 100 * effect, "scale": "points"}


def main() -> None:
    """Run one contestant."""
    parser = argparse.ArgumentParser(description="One contestant of the analysis benchmark.")
    parser.add_argument("name", choices=list(CONTESTANTS))
    parser.add_argument("trials", type=Path)
    asked = parser.parse_args()
    print(json.dumps(CONTESTANTS[asked.name](asked.trials)))


if __name__ == "__main__":
    main()
