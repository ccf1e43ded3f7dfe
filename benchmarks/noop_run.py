"""What infranoise itself costs a trial: planned no-op trials through the whole path, process pods.

    python benchmarks/noop_run.py                # 500 trials
    python benchmarks/noop_run.py --trials 100

Plan, ledger, queue, worker, pod, verifier, record, ingest. The CPU seconds are those of everything
that `infranoise run` starts, read from a cgroup round it, without what runs inside the pods. The
cost of starting (imports, server, worker, report) is told apart by a second run of few trials.
Beside it: the same commands in the same number by a bare `subprocess`. Goal: 0.05 CPU-s a trial.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cpu_group import CpuGroup

FEW = 20
GOAL_CPU_S = 0.05
EXPERIMENT = """
name = "noop"
tasks = ["task"]
samples = {samples}
bands = ["uncapped"]
[[entries]]
agent = "nop"
[pods]
runtime = "process"
network = "none"
"""
TASK = {
    "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
    "instruction.md": "Nothing.\n",
    "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
    "tests/test.sh": "echo 0 > ${LOGS:-/logs}/verifier/reward.txt\n",
}
BARE = (
    ["mkdir", "-p", "{root}/logs/agent", "{root}/logs/verifier", "{root}/logs/artifacts"],
    ["sh", "-c", "rm -rf {root}/logs/verifier/* {root}/tests/*; mkdir -p {root}/tests"],
    ["cp", "-r", "{task}/tests/.", "{root}/tests"],
    ["env", "LOGS={root}/logs", "bash", "{root}/tests/test.sh"],
)


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU and wall seconds of so many trials."""

    trials: int
    cpu_s: float
    wall_s: float


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder with the no-op task."""
    with tempfile.TemporaryDirectory(prefix="infranoise-bench-") as name:
        folder = Path(name)
        for file, text in TASK.items():
            (folder / "task" / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / "task" / file).write_text(text)
        yield folder


def ours(folder: Path, trials: int) -> Cost:
    """`infranoise run` of so many no-op trials."""
    (folder / "noop.toml").write_text(EXPERIMENT.format(samples=trials))
    with CpuGroup("noop-run") as group:
        since = time.monotonic()
        command = ["run", "noop.toml", "--out", f"out-{trials}"]
        subprocess.run(
            [*group.join(), sys.executable, "-m", "infranoise", *command],
            cwd=folder,
            env=os.environ | {"INFRANOISE_STATE": str(folder / "state")},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        return Cost(trials, group.cpu_s(), time.monotonic() - since)


def bare(folder: Path, trials: int) -> Cost:
    """The same commands by a bare subprocess, one after the other."""
    root = folder / "bare"
    steps = [[w.format(root=root, task=folder / "task") for w in step] for step in BARE]
    since, before = time.monotonic(), os.times()
    for _ in range(trials):
        for step in steps:
            subprocess.run(step, check=True)
    after = os.times()
    return Cost(trials, sum(after[:4]) - sum(before[:4]), time.monotonic() - since)


def main() -> None:
    """Measure, print a table, and write `noop_run.json` if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    with workplace() as folder:
        few, many = ours(folder, FEW), ours(folder, asked.trials)
        plain = bare(folder, asked.trials)
    marginal = (many.cpu_s - few.cpu_s) / (many.trials - few.trials)
    start = few.cpu_s - few.trials * marginal
    print(f"{'':34}{'CPU-s a trial':>14}{'CPU-s in all':>14}{'wall s':>9}")
    print(f"{'infranoise, a further trial':34}{marginal:14.4f}{many.cpu_s:14.2f}{many.wall_s:9.1f}")
    print(f"{'infranoise, all of it':34}{many.cpu_s / many.trials:14.4f}")
    print(f"{'  of which starting and reporting':34}{'':14}{start:14.2f}")
    print(f"{'bare subprocess, same commands':34}{plain.cpu_s / plain.trials:14.4f}"
          f"{plain.cpu_s:14.2f}{plain.wall_s:9.1f}")  # fmt: skip
    verdict = "met" if marginal <= GOAL_CPU_S else "missed"
    print(f"goal of {GOAL_CPU_S} CPU-s a trial: {verdict}")
    if asked.out:
        figures = {"few": asdict(few), "many": asdict(many), "bare": asdict(plain)}
        asked.out.write_text(json.dumps(figures | {"marginal_cpu_s": marginal}, indent=1))
    sys.exit(marginal > GOAL_CPU_S)


if __name__ == "__main__":
    main()
