"""Process pods beside a bare `subprocess` run of the same steps: `python benchmarks/process_pod.py`

One trial is: start a pod with limits; the agent's command (`true`); everything stopped; the
verifier's command (`true`); the counters; stop. The bare way makes a folder with the task's files,
runs `true` twice with `subprocess.run`, and removes the folder: no limits, no namespaces, no
counters, no bound on output, nobody killed. The two take turns.

CPU seconds are of everything that a trial causes on this machine: this process, the launcher,
what is in the pod. They are read from a CPU cgroup of our own (v1: cpuacct; v2: cpu.stat); where
none can be had, from getrusage, which misses the pod's PID 1.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from infranoise.models.errors import PodError
from infranoise.models.limits import Limits
from infranoise.workers.pods.pod import PodOrder
from infranoise.workers.pods.process.pods import ProcessPods

MIB = 1024**2
CPU_GOAL_S = 0.05
DOCKERFILE = "FROM python:3.12-slim\nWORKDIR /app\nCOPY words.txt /app/\n"
LIMITS = Limits(
    memory_floor_bytes=64 * MIB,
    memory_ceiling_bytes=128 * MIB,
    cpu_floor=1,
    cpu_ceiling=2,
    storage_ceiling_bytes=256 * MIB,
)


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one trial, in the mean; walls in the median."""

    wall_s: float
    cpu_s: float


def main() -> int:
    """Measure, print one table, and say whether the goal is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100, help="of each kind")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, metered() as cpu_s:
        try:
            ours, bare, enforcement = measure(Path(folder), arguments.trials, cpu_s)
        except PodError as error:
            print(error, file=sys.stderr)
            return 1
    own_s = ours.cpu_s - bare.cpu_s
    if arguments.json:
        goal = {"cpu_goal_s": CPU_GOAL_S, "enforcement": enforcement, "own_cpu_s": own_s}
        print(json.dumps({"process": asdict(ours), "bare": asdict(bare), **goal}))
    else:
        table(ours, bare, own_s, enforcement, arguments.trials)
    return 0 if own_s <= CPU_GOAL_S else 1


def table(ours: Cost, bare: Cost, own_s: float, enforcement: str, trials: int) -> None:
    """Print both, and what infranoise itself takes."""
    print(f"{trials} trials of each kind, enforcement {enforcement}")
    print(f"{'':24}{'wall s (median)':>18}{'CPU s (mean)':>16}")
    for name, cost in (("process pod", ours), ("bare subprocess", bare)):
        print(f"{name:24}{cost.wall_s:>18.4f}{cost.cpu_s:>16.4f}")
    met = "met" if own_s <= CPU_GOAL_S else "MISSED"
    print(f"{'infranoise per trial':24}{'':18}{own_s:>16.4f}  goal {CPU_GOAL_S}: {met}")


def measure(folder: Path, trials: int, cpu_s: Callable[[], float]) -> tuple[Cost, Cost, str]:
    """Mean costs of both ways, and how limits were enforced; one trial of each goes before."""
    environment = folder / "environment"
    environment.mkdir()
    (environment / "Dockerfile").write_text(DOCKERFILE)
    (environment / "words.txt").write_text("plain words\n" * 100)
    pods = ProcessPods(folder / "state")
    ways: dict[str, Callable[[], None]] = {
        "process": lambda: one_pod(pods, environment),
        "bare": lambda: one_bare(environment),
    }
    for way in ways.values():
        way()
    walls: dict[str, list[float]] = {name: [] for name in ways}
    cpus: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(trials):
        for name, way in ways.items():
            wall, cpu = time.perf_counter(), cpu_s()
            way()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(cpu_s() - cpu)
    pods.close()
    costs = [Cost(statistics.median(walls[name]), statistics.mean(cpus[name])) for name in ways]
    return costs[0], costs[1], str(pods.facts()["enforcement"])


def one_pod(pods: ProcessPods, environment: Path) -> None:
    """One trial in a pod."""
    order = PodOrder(
        attempt_id=f"bench-{time.monotonic_ns()}",
        experiment="bench",
        trial="bench",
        environment=environment,
        environment_hash="bench",
        limits=LIMITS,
        expires_at=time.time() + 600,
    )
    pods.prepare(order)
    with pods.pod(order) as pod:
        pod.exec(["true"], timeout_s=60)
        pod.quiesce()
        pod.exec(["true"], timeout_s=60)
        pod.counters()


def one_bare(environment: Path) -> None:
    """The same steps with nothing round them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(environment, folder, dirs_exist_ok=True)
        for _ in range(2):
            subprocess.run(["true"], cwd=folder, capture_output=True, timeout=60, check=False)


@contextmanager
def metered() -> Iterator[Callable[[], float]]:
    """CPU seconds of us and of all that we cause, as a function of now."""
    try:
        group = own_group()
    except OSError:
        yield used_s
        return
    here = Path("/proc/self/cgroup").read_text()
    (group / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield lambda: read_group_s(group)
    finally:
        (home_of(here) / "cgroup.procs").write_text(str(os.getpid()))
        group.rmdir()


def own_group() -> Path:
    """A fresh cgroup below our own."""
    group = home_of(Path("/proc/self/cgroup").read_text()) / f"bench-{os.getpid()}"
    group.mkdir()
    return group


def home_of(listing: str) -> Path:
    """Where a /proc/PID/cgroup listing says that CPU time is counted."""
    for line in listing.splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            return Path(f"/sys/fs/cgroup/{controllers}{path}")
    return Path(f"/sys/fs/cgroup{listing.splitlines()[-1].split(':', 2)[2]}")


def read_group_s(group: Path) -> float:
    """CPU seconds that a cgroup and those below it have used."""
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    usage = (group / "cpu.stat").read_text().split()
    return int(usage[usage.index("usage_usec") + 1]) / 1e6


def used_s() -> float:
    """CPU seconds of this process and of the children that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    raise SystemExit(main())
