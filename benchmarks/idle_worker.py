"""What does a worker cost its node while nothing runs on it, alone and among others?

    python benchmarks/idle_worker.py                 # a minute and a half
    python benchmarks/idle_worker.py --others 20 --seconds 60 --out idle.json

CPU milliseconds a second and resident memory of one idle worker, after it has settled; first alone
on its queue server, then beside others. Goals: 2 ms/s and 100 MB, whatever the fleet's size. Beside
it: a Celery worker with its own defaults (gossip, mingle, prefork of one), alone and among as many.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import redis

from infranoise.scheduler.broker import embedded

GOAL_MS_PER_S, GOAL_MB = 2.0, 100.0
SETTLE_S = 8.0
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
MB = 1e6
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Idle:
    """An idle worker among so many others."""

    kind: str
    others: int
    ms_per_s: float
    memory_mb: float


def ours(folder: Path, broker: str, number: int) -> list[str]:
    """The command of a worker of ours; its probe runs once, when it starts."""
    node = f"idle-{number}"
    words = ["worker", "--node", node, "--runtime", "process", "--state", str(folder / node)]
    return [sys.executable, "-m", "infranoise", *words, "--broker", broker]


def plain(folder: Path, broker: str, number: int) -> list[str]:
    """The command of a Celery worker as it comes."""
    words = ["--broker", broker, "worker", "--concurrency", "1", "--hostname", f"plain-{number}@x"]
    return [sys.executable, "-m", "celery", *words]


def measure(kind: str, others: int, seconds: float) -> Idle:
    """One worker among others, all idle."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="infranoise-idle-")))
        broker = stack.enter_context(embedded())
        command = ours if kind == "infranoise" else plain
        started = []
        for number in range(others + 1):
            log = stack.enter_context((folder / f"{number}.log").open("wb"))
            process = subprocess.Popen(command(folder, broker, number), stdout=log, stderr=log)
            stack.callback(_end, process)
            started.append(process)
        _await_consumers(broker, len(started))
        time.sleep(SETTLE_S)
        pids = [started[0].pid, *_children(started[0].pid)]
        before = sum(map(_cpu_s, pids))
        time.sleep(seconds)
        spent_s = sum(map(_cpu_s, pids)) - before
        return Idle(kind, others, 1000 * spent_s / seconds, sum(map(_resident_mb, pids)))


def _await_consumers(broker: str, count: int) -> None:
    """Wait until every worker waits for messages."""
    with redis.Redis.from_url(broker, decode_responses=True) as client:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            blocked = int(client.info("clients")["blocked_clients"])  # type: ignore[index]
            if blocked >= count:  # each waits for a message in a blocking pop
                return
            time.sleep(0.2)
    sys.exit("the workers did not come up")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    found = [int(word) for word in text.split()]
    return found + [grandchild for child in found for grandchild in _children(child)]


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def _resident_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / MB


def main() -> None:
    """Measure, print, write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--others", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    found = [
        measure(kind, others, asked.seconds)
        for kind in ("infranoise", "Celery, defaults")
        for others in (0, asked.others)
    ]
    print(f"{'an idle worker of':22}{'others':>8}{'CPU ms/s':>10}{'memory MB':>11}")
    for one in found:
        print(f"{one.kind:22}{one.others:8}{one.ms_per_s:10.2f}{one.memory_mb:11.0f}")
    mine = [one for one in found if one.kind == "infranoise"]
    met = all(one.ms_per_s <= GOAL_MS_PER_S and one.memory_mb <= GOAL_MB for one in mine)
    print(f"goals of {GOAL_MS_PER_S:g} ms/s and {GOAL_MB:g} MB: {'met' if met else 'missed'}")
    if asked.out:
        asked.out.write_text(json.dumps([asdict(one) for one in found], indent=1))
    sys.exit(not met)


if __name__ == "__main__":
    main()
