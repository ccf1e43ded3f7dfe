"""Are the numbers right? A simulation study with known truth.

    python benchmarks/validity.py                          # about two minutes of one core
    python benchmarks/validity.py --short                  # some seconds
    python benchmarks/validity.py --out validity.json --seed 7

Prints bias, coverage, size and false selections, each beside what is wanted; rows without a wanted
range show what other methods would do. Ends with status 1 if a row misses by more than 2.5 Monte
Carlo errors.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import validity_bands as of_bands
import validity_decisions as of_decisions
import validity_factors as of_factors
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from validity_rows import Row

type Study = Callable[[np.random.Generator, int], list[Row]]

STUDIES: dict[str, tuple[Study, int]] = {
    "balanced": (of_bands.same_tasks, 1000),
    "new tasks": (of_bands.new_tasks, 1000),
    "unbalanced": (of_bands.unbalanced, 1000),
    "components": (of_bands.variance_components, 1000),
    "missing outcomes": (of_decisions.bounds, 1000),
    "split of a lift": (of_decisions.kill_replay, 1000),
    "ceiling": (of_decisions.ceilings, 1000),
    "sequences": (of_decisions.sequences, 2000),
    "A/A": (of_decisions.a_a, 1000),
    "confounded": (of_factors.confounded, 500),
    "fresh tasks": (of_factors.fresh_tasks, 500),
    "wave shocks": (of_factors.wave_shocks, 600),
}
SHORT = 20  # the short version divides replications by this, down to the fewest
FEWEST = 30


def run(
    names: Sequence[str], seed: int, short: bool, done: Callable[[str], None] = lambda _: None
) -> list[Row]:
    """Rows of the named studies. Each has its own stream, so that none depends on the others."""
    rows = []
    for name in names:
        study, replications = STUDIES[name]
        stream = np.random.default_rng([seed, list(STUDIES).index(name)])
        rows += study(stream, max(FEWEST, replications // SHORT) if short else replications)
        done(name)
    return rows


def table(rows: Sequence[Row]) -> Table:
    """The rows as they are printed."""
    shown = Table(title="Known truth, and what the analysis says of it")
    for heading in ("study", "quantity", "method", "measure"):
        shown.add_column(heading)
    for heading in ("value", "+-", "wanted", "runs", ""):
        shown.add_column(heading, justify="right")
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        wanted = "" if row.wanted is None else f"{row.wanted[0]:.3g}..{row.wanted[1]:.3g}"
        mark = "" if row.wanted is None else "ok" if row.ok else "MISSED"
        shown.add_row(row.study, row.quantity, row.method, row.measure, f"{row.value:.3f}",
                      f"{row.error:.3f}", wanted, str(row.replications), mark,
                      end_section=after is None or after.study != row.study)  # fmt: skip
    return shown


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study from the command line; 0 if no row missed."""
    parser = argparse.ArgumentParser(description="Simulation study with known truth.")
    parser.add_argument("--short", action="store_true", help="a twentieth of the replications")
    parser.add_argument("--out", type=Path, help="also write the rows as JSON")
    parser.add_argument("--seed", type=int, default=20260205)
    parser.add_argument("--only", nargs="*", choices=list(STUDIES), default=list(STUDIES))
    asked = parser.parse_args(argv)
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=132)  # a file has no width
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("simulating", total=len(asked.only))
        rows = run(asked.only, asked.seed, asked.short, lambda _: progress.advance(task))
    console.print(table(rows))
    missed = [row for row in rows if not row.ok]
    console.print(f"{len(rows)} rows, {len(missed)} missed")
    if asked.out:
        written = [{**asdict(row), "ok": row.ok} for row in rows]
        asked.out.write_text(json.dumps({"seed": asked.seed, "rows": written}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
