"""Docker pods beside the same steps through the bare SDK: `python benchmarks/docker_pod.py`

One trial is: create and start a container with limits; three commands; a folder in, a file out;
what the engine counted; remove. The two take turns, so that both meet the same machine. Wall
seconds are of the whole; CPU seconds are of this process alone, the engine's are not in it.

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
from infranoise.workers.pods.docker import DockerPods
from infranoise.workers.pods.pod import PodOrder

BASE = "debian:bookworm-slim"
MIB = 1024**2
COMMANDS = (["mkdir", "-p", "/logs"], ["sh", "-c", "echo 1 > /logs/reward.txt"], ["true"])
WALL_GOAL, CPU_GOAL_S = 1.3, 0.05


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one trial."""

    wall_s: float
    cpu_s: float


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
    print(_as_json(ours, bare) if arguments.json else _as_table(ours, bare))
    return 0


def _measure(folder: Path, tests: Path, trials: int) -> tuple[list[Cost], list[Cost]]:
    pods = DockerPods(locks=folder)
    engine = docker.DockerClient()
    pods.prepare(_order(folder))
    kinds: tuple[tuple[list[Cost], Callable[[], None]], ...] = (
        ([], lambda: _our_trial(pods, _order(folder), tests, folder)),
        ([], lambda: _bare_trial(engine, tests)),
    )
    for turn in range(trials + 1):  # the first of each warms up and is not counted
        for costs, trial in kinds if turn % 2 else reversed(kinds):
            cost = _cost(trial)
            if turn:
                costs.append(cost)
    engine.close()
    return kinds[0][0], kinds[1][0]


def _cost(trial: Callable[[], None]) -> Cost:
    wall, cpu = time.perf_counter(), time.process_time()
    trial()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


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


def _our_trial(pods: DockerPods, order: PodOrder, tests: Path, folder: Path) -> None:
    with pods.pod(order) as pod:
        for argv in COMMANDS:
            assert pod.exec(argv, timeout_s=60).exit_code == 0
        pod.upload(tests, PurePosixPath("/tests"))
        assert pod.download(PurePosixPath("/logs/reward.txt"), folder / "reward.txt")
        assert pod.counters().oom_kills == 0


def _bare_trial(engine: docker.DockerClient, tests: Path) -> None:
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
    finally:
        container.remove(force=True, v=True)


def _packed(tests: Path) -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        tar.add(tests, "tests")
    return whole.getvalue()


def _row(costs: list[Cost]) -> tuple[float, float]:
    """Medians of wall and mean of CPU: CPU adds up over a run, wall is spoilt by neighbours."""
    wall_s = statistics.median(cost.wall_s for cost in costs)
    return wall_s, statistics.fmean(cost.cpu_s for cost in costs)


def _as_table(ours: list[Cost], bare: list[Cost]) -> str:
    (our_wall_s, our_cpu_s), (bare_wall_s, bare_cpu_s) = _row(ours), _row(bare)
    ratio = our_wall_s / bare_wall_s
    return "\n".join(
        [
            f"{len(ours)} trials of each, in turns: wall (median), CPU of this process (mean)",
            f"  infranoise  {our_wall_s:6.3f} s  {our_cpu_s:6.4f} CPU-s",
            f"  bare SDK    {bare_wall_s:6.3f} s  {bare_cpu_s:6.4f} CPU-s",
            f"  wall ratio  {ratio:6.2f}    goal {WALL_GOAL}: {_met(ratio <= WALL_GOAL)}",
            f"  CPU-s       {our_cpu_s:6.4f}  goal {CPU_GOAL_S}: {_met(our_cpu_s <= CPU_GOAL_S)}",
        ]
    )


def _met(goal: bool) -> str:
    return "met" if goal else "missed"


def _as_json(ours: list[Cost], bare: list[Cost]) -> str:
    kinds = {"infranoise": ours, "bare_sdk": bare}
    return json.dumps({name: [asdict(cost) for cost in costs] for name, costs in kinds.items()})


if __name__ == "__main__":
    sys.exit(main())
