"""How fast is the attribution? CPU seconds beside statsmodels and lme4, on the same trials.

    python benchmarks/analysis.py                        # 10k, 100k and 10M trials; minutes
    python benchmarks/analysis.py --quick                # 10k trials only
    python benchmarks/analysis.py --slow                 # also glmer with Laplace (half a minute)
    python benchmarks/analysis.py --out analysis.json

The trials are of 89 tasks x 4 entries x 6 bands, with node, hour and concurrency going along with
band, entry and node. Every contestant runs in a process of its own, with one thread per library,
and is charged the CPU seconds of its analysis, not of its imports. Ours "from rows" collapses the
rows in memory that the peers start from; ours "from Parquet" is charged the reading too. lme4 takes
part where R has it. Ends with status 1 if a target is missed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table
from validity_factors import fleet

HERE = Path(__file__).parent
ONE_THREAD = {
    f"{library}_THREADS": "1" for library in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "POLARS_MAX")
}
SAMPLES = {"10k": 5, "100k": 48, "10M": 4_682}
COUNTS, ROWS, PARQUET = "ours, from counts", "ours, from rows", "ours, from Parquet"
BANDS = "ours, band report"
OLS, LMER = "statsmodels OLS + cluster", "lmer, random infra factors"
PEERS = (OLS, "statsmodels MixedLM", "statsmodels GEE")
LME4 = (LMER, "lmer, fixed infra factors", "glmer, nAGQ=0")
LAPLACE = "glmer, Laplace"
PATIENCE_S = 1_800


@dataclass(frozen=True, slots=True)
class Result:
    """What one contestant used. `effect` is uncapped over 1x, in `scale`."""

    size: str
    trials: int
    contestant: str
    cpu_s: float
    effect: float
    scale: str
    peak_mib: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A promise about these results: `value` at least (ratios) or at most (limits) `wanted`."""

    what: str
    value: float
    wanted: float
    at_least: bool

    @property
    def met(self) -> bool:
        """True if the promise holds."""
        return self.value >= self.wanted if self.at_least else self.value <= self.wanted


def trials(path: Path, samples: int) -> int:
    """Write one row per trial as Parquet, and as CSV for R where that is small; the row count."""
    rng = np.random.default_rng(1)
    made = fleet(rng, samples=samples)
    cell = rng.permutation(np.repeat(np.arange(made.n.size, dtype=np.int32), made.n))
    passed = rng.random(cell.size, dtype=np.float32) < made.rate().astype(np.float32)[cell]
    columns = {name: code.astype(np.int32)[cell] for name, code in made.codes.items()}
    rows = pl.DataFrame({**columns, "passed": passed.astype(np.int8)})
    rows.write_parquet(path)
    if rows.height < 1_000_000:
        rows.write_csv(path.with_suffix(".csv"))
    return rows.height


def contest(size: str, path: Path, names: Sequence[str], count: int) -> Iterator[Result]:
    """Run the named contestants, one after the other."""
    for name in names:
        command = [sys.executable, str(HERE / "analysis_contestants.py"), name, str(path)]
        if name in (*LME4, LAPLACE):
            csv = str(path.with_suffix(".csv"))
            command = ["Rscript", str(HERE / "analysis_peers.R"), name, csv]
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | ONE_THREAD
        )
        if ran.returncode:
            raise SystemExit(f"{name} on {size} trials failed:\n{ran.stderr}")
        yield Result(size, count, name, **json.loads(ran.stdout.splitlines()[-1]))


def targets(results: Sequence[Result]) -> list[Target]:
    """The promises that these results can be held to."""
    used = {(r.size, r.contestant): r for r in results}
    held = []
    for size, peer, wanted in (
        ("10k", LMER, 100), ("10k", OLS, 20), ("100k", LMER, 500), ("100k", OLS, 100),
        ("10k", LAPLACE, 1_000),
    ):  # fmt: skip
        ours, other = used.get((size, ROWS)), used.get((size, peer))
        if ours and other:
            held.append(Target(f"{peer} / ours, {size}", other.cpu_s / ours.cpu_s, wanted, True))
    for name, limit_s in ((PARQUET, 0.6), (COUNTS, 0.2), (BANDS, 0.01)):
        if ours := used.get(("10M", name)):
            held.append(Target(f"CPU s of {name}, 10M", ours.cpu_s, limit_s, False))
    rows = used.get(("10M", PARQUET))
    if rows and rows.peak_mib is not None:
        held.append(Target("peak MiB from Parquet, 10M", rows.peak_mib, 500, False))
    return held


def table(results: Sequence[Result], held: Sequence[Target]) -> tuple[Table, Table]:
    """The results, each as a multiple of ours from the same rows, and the promises."""
    used, kept = Table(title="CPU seconds of one full analysis"), Table(title="Targets")
    for heading in ("trials", "contestant", "CPU s", "x ours", "uncapped over 1x", "peak MiB"):
        used.add_column(heading, justify="left" if heading == "contestant" else "right")
    ours = {r.size: r.cpu_s for r in results if r.contestant in (ROWS, PARQUET)}
    for r in results:
        peak = "" if r.peak_mib is None else f"{r.peak_mib:.0f}"
        times, effect = f"{r.cpu_s / ours[r.size]:.1f}", f"{r.effect:+.2f} {r.scale}"
        used.add_row(f"{r.trials:,}", r.contestant, f"{r.cpu_s:.4f}", times, effect, peak)
    for heading in ("what", "measured", "wanted", ""):
        kept.add_column(heading)
    for t in held:
        sign = ">=" if t.at_least else "<="
        kept.add_row(t.what, f"{t.value:.3g}", f"{sign} {t.wanted:g}", "ok" if t.met else "MISSED")
    return used, kept


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark from the command line; 0 if every target was met."""
    parser = argparse.ArgumentParser(description="CPU seconds of an analysis, beside its peers.")
    parser.add_argument("--quick", action="store_true", help="10k trials only")
    parser.add_argument("--slow", action="store_true", help="also glmer with Laplace, at 10k")
    parser.add_argument("--out", type=Path, help="also write results and targets as JSON")
    asked = parser.parse_args(argv)
    console, results = Console(), list[Result]()
    lme4 = LME4 if _has_lme4() else ()
    if not lme4:
        console.print("R with lme4 is not installed: its rows are left out")
    with tempfile.TemporaryDirectory(prefix="infranoise-analysis-") as folder:
        for size in ("10k",) if asked.quick else SAMPLES:
            path = Path(folder) / f"{size}.parquet"
            names = (
                [COUNTS, PARQUET, BANDS] if size == "10M" else [COUNTS, ROWS, BANDS, *PEERS, *lme4]
            )
            names += [LAPLACE] if lme4 and asked.slow and size == "10k" else []
            for result in contest(size, path, names, _written(path, size)):
                results.append(result)
                console.print(f"{size} {result.contestant}: {result.cpu_s:.4f} CPU s")
    held = targets(results)
    for shown in table(results, held):
        console.print(shown)
    if asked.out:
        found = {"results": [asdict(r) for r in results],
                 "targets": [{**asdict(t), "met": t.met} for t in held]}  # fmt: skip
        asked.out.write_text(json.dumps(found, indent=1) + "\n")
    return 0 if all(t.met for t in held) else 1


def _written(path: Path, size: str) -> int:
    return trials(path, SAMPLES[size])


def _has_lme4() -> bool:
    if shutil.which("Rscript") is None:
        return False
    return subprocess.run(["Rscript", "-e", "library(lme4)"], capture_output=True).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
