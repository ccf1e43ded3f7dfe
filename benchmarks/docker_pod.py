"""Docker pods beside the same steps through the bare SDK: `python benchmarks/docker_pod.py`

One trial is: create and start a container with limits; three commands, and after each everything
stopped and the counters read; a folder in, a file out; remove. The two take turns, so that both
meet the same machine. CPU seconds are of this process alone; the engine's are not in it.

The bare way does what the SDK's documentation shows: `containers.run(detach=True)`, `exec_run`,
`put_archive`, `get_archive`, `reload` and `stats` once, `remove(force=True)`. It has no timeout, no
bound on output, no kill from outside, no counters per phase.
"""

import argparse
import io
import json
import statistics
import sys
import tarfile
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import docker

from infranoise.models.errors import PodError
from infranoise.models.limits import Limits
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder

BASE = "debian:bookworm-slim"
MIB = 1024**2
COMMANDS = (["mkdir", "-p", "/logs"], ["sh", "-c", "echo 1 > /logs/reward.txt"], ["true"])
WALL_GOAL, CPU_GOAL_S = 1.3, 0.05


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one trial; `remove_s` is what of the wall went into killing and removing it."""

    wall_s: float
    cpu_s: float
    remove_s: float


def main() -> int:
    """Measure, print one table, and say whether the goals are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30, help="of each kind")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tests = Path(folder) / "tests"
        tests.mkdir()
        (tests / "test.sh").write_text("true\n" * 100)
        try:
            ours, bare = _measure(Path(folder), tests, arguments.trials)
        except PodError as error:
            print(error, file=sys.stderr)
            return 1
    ratio = ours.wall_s / bare.wall_s
    if arguments.json:
        goals = {"wall_ratio": ratio, "wall_goal": WALL_GOAL, "cpu_goal_s": CPU_GOAL_S}
        print(json.dumps({"docker": asdict(ours), "bare": asdict(bare), **goals}))
    else:
        _table(ours, bare, arguments.trials)
    return 0 if ratio <= WALL_GOAL and ours.cpu_s <= CPU_GOAL_S else 1


def _measure(folder: Path, tests: Path, trials: int) -> tuple[Cost, Cost]:
    pods = DockerPods(locks=folder)
    engine = docker.DockerClient()
    pods.prepare(_order(folder))
    kinds: tuple[tuple[list[Cost], Callable[[], float]], ...] = (
        ([], lambda: _our_trial(pods, _order(folder), tests, folder)),
        ([], lambda: _bare_trial(engine, tests)),
    )
    for turn in range(trials + 1):  # the first of each warms up and is not counted
        for costs, trial in kinds if turn % 2 else reversed(kinds):
            cost = _cost(trial)
            if turn:
                costs.append(cost)
    engine.close()
    return _typical(kinds[0][0]), _typical(kinds[1][0])


def _cost(trial: Callable[[], float]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    removing = trial()
    now = time.perf_counter()
    return Cost(now - wall, time.process_time() - cpu, now - removing)


def _typical(costs: list[Cost]) -> Cost:
    """Medians of walls, which neighbours spoil; the mean of CPU, which adds up over a run."""
    return Cost(
        statistics.median(cost.wall_s for cost in costs),
        statistics.fmean(cost.cpu_s for cost in costs),
        statistics.median(cost.remove_s for cost in costs),
    )


def _order(folder: Path) -> PodOrder:
    return PodOrder(
        attempt_id=uuid.uuid4().hex,
        experiment="benchmark",
        trial="one",
        environment=folder,
        environment_hash="none",
        image=BASE,
        limits=Limits(
            memory_floor_bytes=64 * MIB, memory_ceiling_bytes=64 * MIB, cpu_ceiling=1.0, pids=256
        ),
        expires_at=time.time() + 600,
    )


def _our_trial(pods: DockerPods, order: PodOrder, tests: Path, folder: Path) -> float:
    """One trial in a pod; returns when its removal began."""
    with pods.pod(order) as pod:
        for argv in COMMANDS:
            assert pod.exec(argv, timeout_s=60).exit_code == 0
            pod.quiesce()
            assert pod.counters().oom_kills == 0
        pod.upload(tests, PurePosixPath("/tests"))
        assert pod.download(PurePosixPath("/logs/reward.txt"), folder / "reward.txt")
        return time.perf_counter()


def _bare_trial(engine: docker.DockerClient, tests: Path) -> float:
    """The same steps with nothing round them."""
    container = engine.containers.run(
        BASE,
        ["sleep", "infinity"],
        detach=True,
        init=True,
        mem_limit=64 * MIB,
        memswap_limit=64 * MIB,
        mem_reservation=64 * MIB,
        cpu_period=100_000,
        cpu_quota=100_000,
        pids_limit=256,
        security_opt=["no-new-privileges"],
    )
    try:
        for argv in COMMANDS:
            assert container.exec_run(argv, demux=True).exit_code == 0
        container.put_archive("/", _packed(tests))
        pieces, _ = container.get_archive("/logs/reward.txt")
        assert b"1\n" in b"".join(pieces)
        container.reload()
        container.stats(stream=False, one_shot=True)
        return time.perf_counter()
    finally:
        container.remove(force=True, v=True)


def _packed(tests: Path) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        tar.add(tests, "tests")
    return whole.getvalue()


def _table(ours: Cost, bare: Cost, trials: int) -> None:
    print(f"{trials} trials of each kind, in turns")
    print(f"{'':16}{'wall s (median)':>18}{'of it removing':>16}{'CPU s (mean)':>16}")
    for name, cost in (("docker pod", ours), ("bare SDK", bare)):
        print(f"{name:16}{cost.wall_s:>18.3f}{cost.remove_s:>16.3f}{cost.cpu_s:>16.4f}")
    ratio = ours.wall_s / bare.wall_s
    print(f"wall ratio {ratio:.2f}, goal {WALL_GOAL}: {_met(ratio <= WALL_GOAL)}")
    print(f"CPU-s {ours.cpu_s:.4f}, goal {CPU_GOAL_S}: {_met(ours.cpu_s <= CPU_GOAL_S)}")


def _met(goal: bool) -> str:
    return "met" if goal else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
