"""What an import costs: Inspect logs beside Inspect's own reader, and a leaderboard of trials.

    INFRANOISE_PEERS_PYTHON=…/bin/python python benchmarks/importers.py
    python benchmarks/importers.py --samples 5000 --trials 20000

Samples go into a ledger (written, indexed, counted), while `samples_df` of the same log makes a
data frame in memory; both are timed without their imports, in processes of their own, in one run.
Goals: at most 1x its CPU seconds and 0.5x its memory at 20,000 samples; 100,000 trials of a
Terminal-Bench tree, each told twice as the leaderboard has them, in 10 CPU-s. Without a Python for
Inspect only the second is measured.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from infranoise.importers.bring import bring
from infranoise.importers.eval_archive import EvalArchive
from infranoise.importers.kinds import importer
from infranoise.importers.modes import Modes
from infranoise.importers.modes_builtin import BUILT_IN
from infranoise.importers.reading import Choices
from infranoise.models.ledger.adopt import Adoption
from infranoise.models.ledger.store import open_store
from infranoise.models.source import Kind

HERE = Path(__file__).parent
GOAL_CPU, GOAL_MEMORY, GOAL_TRIALS_S = 1.0, 0.5, 10.0
TASKS, FEW = 80, 200
INSTRUCTION = "Build the kernel from source and leave a note of what was wrong. " * 8


def main() -> None:
    """Measure, print, and end with status 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(measured(asked.child[0], Path(asked.child[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        figures = {
            "leaderboard": leaderboard(Path(folder), asked.trials),
            "inspect": inspect(Path(folder), asked.samples),
        }
    if asked.out:
        asked.out.write_text(json.dumps(figures, indent=1))
    sys.exit(not all([show(name, found) for name, found in figures.items()]))


def measured(kind: Kind, path: Path) -> dict[str, float]:
    """CPU seconds and peak memory of an import into a fresh ledger, imports of code left out."""
    with tempfile.TemporaryDirectory() as folder:
        engine = open_store(Path(folder) / "ledger.sqlite")
        reader, choices = importer(kind), Choices(Modes(BUILT_IN[kind]))
        since = time.process_time()
        brought = bring(reader, [path], choices, Adoption(engine, "bench", reader.factors))
        took = time.process_time() - since
        engine.dispose()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": brought.adopted.new, "cpu_s": took, "peak_mib": peak}


def child(*words: object) -> dict[str, float]:
    """What a process of its own measured."""
    done = subprocess.run([str(word) for word in words], capture_output=True, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def leaderboard(folder: Path, trials: int) -> dict[str, Any]:
    """A tree of runs of 80 tasks, as the public leaderboard has them."""
    root = folder / "bench-core@0.1.1"
    for run in range(-(-trials // TASKS)):
        write_run(root / f"entry-{run // 50:03d}" / f"run-{run:05d}", run)
    ours = child(sys.executable, __file__, "--child", "terminal-bench", root)
    return {"ours": ours, "goal_cpu_s": GOAL_TRIALS_S * trials / 100_000}


def write_run(folder: Path, run: int) -> None:
    """One run: its results, its metadata, each trial's own file."""
    results = [trial(run, k) for k in range(TASKS)]
    resolved = sum(result["is_resolved"] is True for result in results)
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(
        json.dumps(
            {"results": results, "n_resolved": resolved, "n_unresolved": TASKS - resolved}, indent=4
        )
    )
    metadata = {"run_id": folder.name, "n_concurrent_trials": 4, "n_attempts": 1}
    (folder / "run_metadata.json").write_text(json.dumps(metadata))
    for result in results:
        own = folder / result["task_id"] / result["trial_name"]
        own.mkdir(parents=True)
        (own / "results.json").write_text(json.dumps(result, indent=4))


def trial(run: int, k: int) -> dict[str, Any]:
    """One trial of about the size of the leaderboard's; no two have the same times."""
    hour = f"2025-09-{1 + run % 28:02d}T{k % 24:02d}"
    micro = f"{(run * TASKS + k) * 7919 % 10**6:06d}"
    return {
        "id": f"{run:08x}-{k:04x}-4000-8000-000000000000",
        "trial_name": f"task-{k}.1-of-1.run-{run}",
        "task_id": f"task-{k}",
        "instruction": INSTRUCTION,
        "is_resolved": [True, False, False, None][(run + k) % 4],
        "failure_mode": ["unset", "unset", "agent_timeout", "parse_error"][(run + k) % 4],
        "parser_results": {f"test_{t}": "passed" for t in range(6)},
        "recording_path": f"run-{run}/task-{k}/sessions/agent.cast",
        "total_input_tokens": 1000 + k,
        "total_output_tokens": 100,
        "trial_started_at": f"{hour}:00:00.5+00:00",
        "agent_started_at": f"{hour}:00:04.5+00:00",
        "agent_ended_at": f"{hour}:09:04.{micro}+00:00",
        "test_started_at": f"{hour}:09:05.5+00:00",
        "test_ended_at": f"{hour}:09:09.{micro}+00:00",
        "trial_ended_at": f"{hour}:09:20.{micro}+00:00",
    }


def inspect(folder: Path, samples: int) -> dict[str, Any] | None:
    """The same log by Inspect's own reader and by ours; None without a Python for Inspect."""
    peer = os.environ.get("INFRANOISE_PEERS_PYTHON")
    if not peer:
        return None
    small, log, other = folder / "few.eval", folder / "bench.eval", HERE / "importers_peer.py"
    subprocess.run([peer, other, "make", small, str(FEW)], check=True, capture_output=True)
    multiply(small, log, samples)
    theirs = child(peer, other, "read", log)
    ours = child(sys.executable, __file__, "--child", "inspect", log)
    return {"ours": ours, "theirs": theirs}


def multiply(small: Path, log: Path, samples: int) -> None:
    """Inspect's own log of few samples as one of many: its writer takes minutes for 20,000."""
    with EvalArchive(small) as archive:
        head = json.loads(b"".join(archive.pieces("header.json")))
        few = json.loads(b"".join(archive.pieces("summaries.json")))
    head["results"] |= {"total_samples": samples, "completed_samples": samples}
    many = [
        few[k % len(few)] | {"id": f"task-{k // 4:05d}", "epoch": 1 + k % 4, "uuid": f"uuid-{k}"}
        for k in range(samples)
    ]
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("summaries.json", json.dumps(many))
        archive.writestr("header.json", json.dumps(head))


def show(name: str, found: dict[str, Any] | None) -> bool:
    """Print one part; whether its goals are met."""
    if found is None:
        print(f"{name}: not measured, INFRANOISE_PEERS_PYTHON names no Python with inspect-ai")
        return True
    ours = found["ours"]
    told = f"{name}: {ours['rows']:,} rows, {ours['cpu_s']:.2f} CPU-s, {ours['peak_mib']:.0f} MiB"
    if "theirs" not in found:
        met = ours["cpu_s"] <= found["goal_cpu_s"]
        print(f"{told}; goal {found['goal_cpu_s']:.1f} CPU-s: {'met' if met else 'MISSED'}")
        return bool(met)
    theirs = found["theirs"]
    cpu, memory = ours["cpu_s"] / theirs["cpu_s"], ours["peak_mib"] / theirs["peak_mib"]
    met = cpu <= GOAL_CPU and memory <= GOAL_MEMORY
    print(
        f"{told}; samples_df {theirs['cpu_s']:.2f} CPU-s, {theirs['peak_mib']:.0f} MiB: "
        f"{cpu:.2f}x and {memory:.2f}x, goals {GOAL_CPU:g}x and {GOAL_MEMORY:g}x: "
        f"{'met' if met else 'MISSED'}"
    )
    return met


if __name__ == "__main__":
    main()
