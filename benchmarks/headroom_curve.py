"""Runs the policies of the bundled benchmark under real memory ceilings, and prints who was killed.

    python benchmarks/headroom_curve.py               # the table of tasks and bands, and its check
    python benchmarks/headroom_curve.py --needs       # also the least ceiling each way passes under

No pod, no queue: a cgroup made by hand, one process in it, the counters of the kernel. Policies,
not models. Needs a memory cgroup it may write to (root, or a delegated scope: `systemd-run --user
--scope -p Delegate=yes python ...`). Ends with status 1 if a cell differs from what the task.toml
of its task declares (`heavy_passes_from`).
"""

import argparse
import errno
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from infranoise.bundled.materialise import materialise

MIB = 1 << 20
BANDS = {"1x": 1.0, "1.5x": 1.5, "2x": 2.0, "3x": 3.0, "5x": 5.0, "uncapped": float("inf")}
KILLED, PASSED, RECOVERED, FAILED, JUDGE_KILLED = "K", "P", "R", "F", "V"
SOLVED = {PASSED, RECOVERED}
WHEN_HEAVY_DIES = {"lean": PASSED, "heavy": KILLED, "adaptive": RECOVERED}


@dataclass(frozen=True, slots=True)
class Kind:
    """Names of the files of one cgroup version."""

    limits: tuple[str, ...]
    no_swap: str
    kills: str
    peak: str


V1 = Kind(
    ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    "",
    "memory.oom_control",
    "memory.max_usage_in_bytes",
)
V2 = Kind(("memory.max",), "memory.swap.max", "memory.events", "memory.peak")


@dataclass(frozen=True, slots=True)
class Run:
    """One policy in one pod-like cgroup: a letter, and what the kernel counted."""

    letter: str
    status: int
    agent_s: float
    verifier_s: float
    agent_peak_mib: float
    reward: float


def parent_cgroup() -> tuple[Path, Kind]:
    """The cgroup to make leaves in. Raises SystemExit with a remedy where none can be had."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().split()]
    for _, controllers, path in lines:
        if "memory" in controllers.split(","):
            root = Path("/sys/fs/cgroup/memory")
            own = root / path.lstrip("/")
            return (own if own.is_dir() else root), V1
    own = Path("/sys/fs/cgroup") / lines[-1][2].lstrip("/")
    try:
        if own != Path("/sys/fs/cgroup"):
            _stand_aside(own)
        (own / "cgroup.subtree_control").write_text("+memory")
    except OSError as error:
        sys.exit(f"{own}: {error}; run as `systemd-run --user --scope -p Delegate=yes python ...`")
    return own, V2


def _stand_aside(own: Path) -> None:
    """Version 2 wants no processes beside child groups, so this one moves into a child."""
    (own / "home").mkdir(exist_ok=True)
    (own / "home" / "cgroup.procs").write_text(str(os.getpid()))


@contextmanager
def leaf(parent: Path, kind: Kind, limit_bytes: float) -> Iterator[Path]:
    """A cgroup of its own under a hard ceiling without swap; gone afterwards."""
    group = parent / f"infranoise-curve-{os.getpid()}"
    group.mkdir()
    try:
        if kind.no_swap and (group / kind.no_swap).exists():
            (group / kind.no_swap).write_text("0")
        if limit_bytes != float("inf"):
            for name in kind.limits:
                if (group / name).exists():
                    (group / name).write_text(str(int(limit_bytes)))
        yield group
    finally:
        remove(group)


def remove(group: Path, tries: int = 50) -> None:
    """The kernel may still be tearing down the last process for a moment."""
    for _ in range(tries):
        try:
            return group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.02)
    sys.exit(f"{group} stays busy; a process of a policy lives on in it")


def kills(group: Path, kind: Kind) -> int:
    fields = dict(line.split() for line in (group / kind.kills).read_text().splitlines())
    return int(fields["oom_kill"])


def execute(group: Path, argv: list[str], root: Path, log: Path) -> tuple[int, float]:
    """Runs a command inside the group from its first instruction; returns (status, CPU seconds)."""
    child = os.fork()
    if child == 0:
        (group / "cgroup.procs").write_text(str(os.getpid()))
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(root / "app")
        environment = {"PATH": os.environ["PATH"], "INFRANOISE_ROOT": str(root)}
        os.execve(argv[0], argv, environment)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def lay_out(task: Path, root: Path) -> None:
    """What a pod holds: inputs, policies, and later the tests."""
    shutil.copytree(task / "environment" / "files", root / "app")
    shutil.copytree(task / "policies", root / "policy")
    shutil.copytree(task / "tests", root / "tests")


def attempt(task: Path, policy: str, ceiling_mib: float) -> Run:
    """Agent and verifier, one after the other under the same ceiling."""
    parent, kind = parent_cgroup()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        lay_out(task, root)
        with leaf(parent, kind, ceiling_mib * MIB) as group:
            agent = ["/bin/sh", f"{root}/policy/run.sh", policy]
            status, agent_s = execute(group, agent, root, root / "agent.log")
            agent_kills = kills(group, kind)
            peak = int((group / kind.peak).read_text()) if (group / kind.peak).exists() else 0
            judge = ["/bin/bash", f"{root}/tests/test.sh"]
            _, verifier_s = execute(group, judge, root, root / "verifier.log")
            verifier_kills = kills(group, kind) - agent_kills
        reward_file = root / "logs" / "verifier" / "reward.txt"
        reward = float(reward_file.read_text()) if reward_file.exists() else 0.0
    letter = verdict(agent_kills, verifier_kills, reward)
    return Run(letter, status, agent_s, verifier_s, peak / MIB, reward)


def verdict(agent_kills: int, verifier_kills: int, reward: float) -> str:
    if reward == 1.0:
        return RECOVERED if agent_kills else PASSED
    if verifier_kills:
        return JUDGE_KILLED
    return KILLED if agent_kills else FAILED


def least_ceiling_mib(task: Path, policy: str, step_mib: float = 0.25) -> float:
    """Least ceiling for a reward of 1, to one step, by bisection; 512 where there is none."""
    low, high = 2.0, 512.0
    while high - low > step_mib:
        middle = (low + high) / 2
        passed = attempt(task, policy, middle).letter in SOLVED
        low, high = (low, middle) if passed else (middle, high)
    return high


def declared(metadata: dict[str, str], policy: str, band: str) -> str:
    """The letter that a task.toml promises, or "" where it promises nothing."""
    if "heavy_passes_from" not in metadata or policy not in WHEN_HEAVY_DIES:
        return ""
    dies = BANDS[band] < BANDS[metadata["heavy_passes_from"]]
    if metadata.get("lean_estimates") and policy != "heavy":
        return FAILED if policy == "lean" else KILLED if dies else PASSED
    return WHEN_HEAVY_DIES[policy] if dies else PASSED


def row(task: Path, policy: str, needs: bool) -> tuple[str, list[str], list[str]]:
    """One printed line, its letters, and the letters that were promised."""
    spec = tomllib.loads((task / "task.toml").read_text())
    memory_mib = spec["environment"]["memory_mb"]
    runs = [attempt(task, policy, memory_mib * multiple) for multiple in BANDS.values()]
    letters = [run.letter for run in runs]
    free = runs[-1]
    need = f"{least_ceiling_mib(task, policy) / memory_mib:6.2f}x" if needs else ""
    line = (
        f"{task.name:14}{policy:9}{memory_mib:5}{free.agent_s:8.2f}{free.verifier_s:8.2f}"
        f"{free.agent_peak_mib:8.1f}{need:>8}   " + "".join(f"{x:^9}" for x in letters)
    )
    return line, letters, [declared(spec["metadata"], policy, band) for band in BANDS]


def curve(benchmark: str, policies: list[str], needs: bool, cache_dir: Path) -> int:
    """Prints the table and returns the number of cells that are not as declared."""
    tasks = materialise(benchmark, cache_dir)
    print(
        f"{'task':14}{'policy':9}{'MiB':>5}{'agent s':>8}{'verif s':>8}{'peak':>8}"
        f"{'needs' if needs else '':>8}   " + "".join(f"{band:^9}" for band in BANDS)
    )
    wrong = 0
    for policy in policies:
        passed = [0] * len(BANDS)
        for task in tasks:
            line, letters, promised = row(task, policy, needs)
            print(line, flush=True)
            passed = [count + (x in SOLVED) for count, x in zip(passed, letters, strict=True)]
            wrong += sum(bool(y) and x != y for x, y in zip(letters, promised, strict=True))
        label = f"{policy} (a policy, not a model) solves, of {len(tasks)}"
        print(f"{label:<{60 if needs else 52}}   " + "".join(f"{n:^9}" for n in passed) + "\n")
    print("K killed, P passed, R passed after a kill, F failed, V verifier killed")
    print(f"cells that are not as declared: {wrong}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--benchmark", default="headroom")
    parser.add_argument("--policies", default="lean,heavy,adaptive")
    parser.add_argument("--needs", action="store_true", help="bisect the least ceiling (slower)")
    parser.add_argument("--python", type=Path, help="folder of the python3 that runs the policies")
    arguments = parser.parse_args()
    first = arguments.python or Path(sys.executable).resolve().parent
    os.environ["PATH"] = f"{first}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as cache:
        policies = arguments.policies.split(",")
        return int(curve(arguments.benchmark, policies, arguments.needs, Path(cache)) > 0)


if __name__ == "__main__":
    sys.exit(main())
