"""Does one scheduler hold a large fleet? The real one, a real queue server, simulated nodes.

    python benchmarks/thousand_nodes.py                     # 1,000 nodes, 60 floors; two minutes
    python benchmarks/thousand_nodes.py --nodes 200 --trials 4000
    python benchmarks/thousand_nodes.py --out fleet.json

Nodes of four sizes and 8 slots take trials of three experiments whose 60 tasks have 60 different
floors, the largest of which fits only a tenth of the nodes. Trials last about `--mean` seconds: 20
and more times shorter than real ones, so that the scheduler places that many times more. Told are

- whether any node ever held more than it has, as the nodes counted and as the leases say;
- the longest time that a trial waited at the head of its experiment, while others passed it. The
  stated bound is the age at which a node is kept free for it, plus the longest trial, plus a few
  rounds;
- the scheduler's CPU as a share of one core, and the microseconds that it spent on a trial;
- how far apart in time the trials of one wave, and of one block (the bands of a task and entry),
  were placed.

Ends with status 1 if a floor was oversubscribed, the bound was broken, a trial has no outcome, or
the scheduler took a core.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, select

from infranoise.models.band import Band
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.rows import AttemptRow, CellRow, TrialRow
from infranoise.models.ledger.store import open_store
from infranoise.models.spec import Spec
from infranoise.models.task import Task
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.collect import Collector
from infranoise.scheduler.leases import Leases
from infranoise.scheduler.placement import AGE_S
from infranoise.scheduler.plan import plan
from infranoise.scheduler.service import Service

TICK_S = 0.25  # as the scheduler's own
EXPERIMENTS, SAMPLES = 3, 10
BANDS = ("1x", "3x", "uncapped")
SMALL = [(cpus, gib) for cpus in (1, 2, 3, 4, 5, 6, 8, 12, 16) for gib in (1, 2, 4, 8, 12, 16)]
LARGE = [(20, 64), (24, 32), (28, 48), (32, 128), (40, 96), (48, 192)]
FLOORS = SMALL + LARGE
ROUNDS_S = 10.0  # allowance for the rounds of scheduler and nodes on a busy machine


@dataclass(frozen=True, slots=True)
class Placement:
    """A trial as it was placed; `at` in Unix seconds."""

    wave: int
    position: int
    block: str
    at: float


def experiments(trials: int) -> list[Experiment]:
    """So many trials in all, over three experiments of like size."""
    entries = max(1, round(trials / (EXPERIMENTS * len(FLOORS) * len(BANDS) * SAMPLES)))
    return [
        Experiment.model_validate(
            {
                "name": f"sim-{number}",
                "seed": number,
                "tasks": ("any",),
                "samples": SAMPLES,
                "bands": [Band.shorthand(name) for name in BANDS],
                "entries": [{"agent": "a", "model": f"m{n}"} for n in range(entries)],
                "pods": {"runtime": "process"},
            }
        )
        for number in range(EXPERIMENTS)
    ]


def tasks() -> list[Task]:
    """One task for each floor."""
    return [
        Task(
            name=f"sim/cpu{cpus}-mem{gib}",
            title="",
            directory=Path("/tasks"),
            content_hash=f"c{cpus}-{gib}",
            environment_hash=f"e{cpus}-{gib}",
            spec=Spec(cpus=cpus, memory_mib=gib * 1024, storage_mib=1024, agent_timeout_s=900),
        )
        for cpus, gib in FLOORS
    ]


@contextmanager
def simulated(broker: str, nodes: int, mean_s: float) -> Iterator[dict[str, object]]:
    """The nodes, in a process of their own; what they tell is in the dict after leaving."""
    program = Path(__file__).with_name("fleet_nodes.py")
    words = [sys.executable, str(program), broker, str(nodes), str(mean_s)]
    told: dict[str, object] = {}
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as fleet:
        assert fleet.stdin is not None
        assert fleet.stdout is not None
        assert fleet.stdout.readline() == "up\n", "the simulated nodes did not start"
        try:
            yield told
        finally:
            fleet.stdin.close()
            told |= json.loads(fleet.stdout.readline() or "{}")


def work(engine: Engine, broker: str, until: float) -> dict[str, float]:
    """Be the scheduler until all is done; its CPU and wall, and the least that was ever free."""
    leases, collector = Leases(broker), Collector(broker)
    service = Service(engine, leases, collector)
    cpu_s, wall_s, least, ticks = time.process_time(), time.monotonic(), 0, 0
    busiest_s = 0.0
    while not service.finished and time.monotonic() < until:
        before = time.process_time()
        service.tick(TICK_S)
        busiest_s = max(busiest_s, time.process_time() - before)
        ticks += 1
        if ticks % 20 == 0:
            free = [node.free for node in leases.nodes()]
            least = min(least, *(min(f.cpu_m, f.memory_bytes, f.slots) for f in free))
    spent = {
        "cpu_s": time.process_time() - cpu_s,
        "wall_s": time.monotonic() - wall_s,
        "least_free": least,
        "ticks": ticks,
        "busiest_tick_cpu_s": busiest_s,
    }
    leases.close()
    collector.close()
    return spent


def placements(engine: Engine, name: str) -> list[Placement]:
    """When each trial of an experiment was first placed, in the order of the plan."""
    query = (
        select(TrialRow.wave, TrialRow.position, CellRow.task, CellRow.entry, AttemptRow.placed_at)
        .join(AttemptRow, AttemptRow.trial == TrialRow.id)
        .join(CellRow, CellRow.id == TrialRow.cell)
        .where(TrialRow.experiment == name, AttemptRow.number == 1)
        .order_by(TrialRow.position)
    )
    with engine.connect() as connection:
        return [
            Placement(wave, position, f"{task} {entry}", at)
            for wave, position, task, entry, at in connection.execute(query)
        ]


def longest_at_head_s(placed: list[Placement]) -> float:
    """The longest time for which a trial waited when all before it in its experiment were out."""
    longest, before = 0.0, placed[0].at
    for one in placed:
        longest = max(longest, one.at - before)
        before = max(before, one.at)
    return longest


def spread_s(placed: list[Placement], *, blocks: bool) -> list[float]:
    """Per wave, or per block of a wave, the time from its first placement to its last."""
    groups: dict[tuple[int, str], list[float]] = defaultdict(list)
    for one in placed:
        groups[one.wave, one.block if blocks else ""].append(one.at)
    return [max(times) - min(times) for times in groups.values()]


def main() -> None:
    """Run the fleet, print what was seen, write it as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--trials", type=int, default=10_800)
    parser.add_argument("--mean", type=float, default=20.0, help="mean length of a trial, seconds")
    parser.add_argument("--limit", type=float, default=900.0, help="give up after these seconds")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="infranoise-fleet-") as folder, embedded() as broker:
        engine = open_store(Path(folder) / "ledger.sqlite")
        designs, floors = experiments(asked.trials), tasks()
        for design in designs:
            enrol(engine, design, floors, plan(design, floors).waves)
        with simulated(broker, asked.nodes, asked.mean) as told:
            spent = work(engine, broker, time.monotonic() + asked.limit)
        placed = {design.name: placements(engine, design.name) for design in designs}
        engine.dispose()
    trials = sum(map(len, placed.values()))
    at_head_s = max(map(longest_at_head_s, placed.values()))
    bound_s = AGE_S + float(str(told["longest_s"])) + ROUNDS_S
    waves = [s for some in placed.values() for s in spread_s(some, blocks=False)]
    blocks = [s for some in placed.values() for s in spread_s(some, blocks=True)]
    share = spent["cpu_s"] / spent["wall_s"]
    figures: dict[str, object] = {
        "nodes": asked.nodes,
        "floors": len(FLOORS),
        "trials placed": trials,
        "trials finished": told["finished"],
        "leases lost": told.get("lost", 0),
        "nodes oversubscribed": len(list(told["oversubscribed"])),  # type: ignore[call-overload]
        "least ever free (leases)": spent["least_free"],
        "placed a second": round(trials / spent["wall_s"], 1),
        "scheduler, share of a core": round(share, 3),
        "scheduler, CPU microseconds a trial": round(1e6 * spent["cpu_s"] / trials),
        "busiest round, CPU s": round(spent["busiest_tick_cpu_s"], 3),
        "longest at the head, s": round(at_head_s, 1),
        "its bound, s": round(bound_s, 1),
        "wave spread, s (median, most)": [round(statistics.median(waves), 1), round(max(waves), 1)],
        "block spread, s (median, p95)": [
            round(statistics.median(blocks), 1),
            round(statistics.quantiles(blocks, n=20)[-1], 1),
        ],
    }
    for name, value in figures.items():
        print(f"{name:38} {value}")
    planned = sum(plan(design, floors).trial_count for design in designs)
    failed = {
        "a node held more than it has": bool(told["oversubscribed"]) or spent["least_free"] < 0,
        "the bound was broken": at_head_s > bound_s,
        "trials without an outcome": told["finished"] != planned,
        "the scheduler took a core": share >= 1,
    }
    for what, is_so in failed.items():
        print(f"{what}: {'YES' if is_so else 'no'}")
    if asked.out:
        asked.out.write_text(json.dumps(figures, indent=1))
    sys.exit(any(failed.values()))


if __name__ == "__main__":
    main()
