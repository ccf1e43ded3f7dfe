"""What does a million trials cost before the first one runs?

    python benchmarks/million.py                    # SQLite; a minute or two
    python benchmarks/million.py --trials 100000
    python benchmarks/million.py --postgres --out million.json

A plan of a million trials is made and written into the ledger, and then every trial is read back
into the scheduler's window, as it is on its way to a node: keys, floors, place in the line. What
goes to the queue server is only what nodes can start at once, so that its memory does not grow with
the plan; it is told with a window's worth of messages queued on nodes that do not fetch them. Told
are CPU seconds, the process's peak memory, and the server's. Beside it, per trial, what it costs to
send the same messages to the queue with plain `send_task`.

Ends with status 1 if a goal is missed: 60 CPU-s, 600 MB of the process, 150 MB of the server.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import redis
from celery import Celery
from ledger_load import matrix
from sqlalchemy import Engine

from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.store import open_store
from infranoise.models.message import RUN_ATTEMPT, node_queue
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.envelope import attempt_envelope
from infranoise.scheduler.leases import Leases
from infranoise.scheduler.plan import plan
from infranoise.scheduler.window import FRONT, Window

sys.path.append(str(Path(__file__).parents[1] / "tests/services"))
from own_postgres import find_postgres, own_postgres

GOAL_CPU_S, GOAL_PROCESS_MB, GOAL_SERVER_MB = 60.0, 600.0, 150.0
QUEUED = 2_000  # messages that are queued on nodes at once: 250 nodes of 8 slots
PEER = 2_000


@contextmanager
def ledger(folder: Path, *, postgres: bool) -> Iterator[Engine]:
    """An empty ledger."""
    programs = find_postgres() if postgres else None
    if postgres and programs is None:
        sys.exit("no PostgreSQL server is installed here (Debian: apt install postgresql)")
    with own_postgres(programs) if programs else nullcontext() as server:
        engine = open_store(server.address if server else folder / "ledger.sqlite")
        yield engine
        engine.dispose()


def read_all(engine: Engine, name: str) -> int:
    """Take every trial of an experiment into a window and out of it; how many there were."""
    window, seen = Window.open(engine, name), 0
    while True:
        window.top_up()
        if not window.ready:
            return seen
        while window.ready:
            line = window.line(0.0)
            for want in line.waiting:
                del window.ready[want.trial], window.keys[want.trial]
            seen += len(line.waiting)


def queue(engine: Engine, name: str, broker: str, count: int) -> float:
    """Send messages of the first trials to nodes; CPU seconds."""
    window, leases = Window.open(engine, name), Leases(broker)
    before, sent = time.process_time(), 0
    while sent < count:
        window.top_up()
        going = [window.ready.popitem(last=False)[1] for _ in range(min(FRONT, count - sent))]
        nodes = [f"n{(sent + at) // 8}" for at in range(len(going))]
        messages = [window.message(trial, 1, 0.0) for trial in going]
        leases.push((node, attempt_envelope(node, one)) for node, one in zip(nodes, messages))
        sent += len(going)
    spent_s = time.process_time() - before
    leases.close()
    return spent_s


def peer(engine: Engine, name: str, broker: str, count: int) -> float:
    """The same messages by plain `send_task`, made beforehand; CPU seconds."""
    window = Window.open(engine, name)
    window.top_up()
    messages = [window.message(t, 1, 0.0).encode() for t in list(window.ready.values())[:count]]
    with Celery("peer", broker=broker) as app:
        app.conf.update(task_ignore_result=True)
        before = time.process_time()
        for at, message in enumerate(messages):
            app.send_task(RUN_ATTEMPT, (message,), queue=node_queue(f"peer{at // 8}"))
        return time.process_time() - before


def server_mb(broker: str) -> float:
    """Memory of the queue server."""
    with redis.Redis.from_url(broker) as client:
        memory: dict[str, int] = client.info("memory")  # type: ignore[assignment]
        return memory["used_memory"] / 1e6


def main() -> None:
    """Measure, print, write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--postgres", action="store_true", help="a PostgreSQL ledger of our own")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    load = matrix(asked.trials)
    name = load.experiment.name
    with (
        tempfile.TemporaryDirectory(prefix="infranoise-million-") as folder,
        ledger(Path(folder), postgres=asked.postgres) as engine,
        embedded() as broker,
    ):
        began = time.process_time()
        made = plan(load.experiment, load.tasks)
        enrol(engine, load.experiment, load.tasks, made.waves)
        enrolled_s = time.process_time() - began
        read = read_all(engine, name)
        ready_s = time.process_time() - began - enrolled_s
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sent_s = queue(engine, name, broker, QUEUED)
        held_mb = server_mb(broker)
        peer_s = peer(engine, name, broker, PEER)
    assert read == load.trials, f"{read} of {load.trials} trials were read back"
    figures = {
        "trials": load.trials,
        "plan and write them down, CPU s": round(enrolled_s, 1),
        "read all of them into the window, CPU s": round(ready_s, 1),
        "both, CPU s": round(enrolled_s + ready_s, 1),
        "both, CPU microseconds a trial": round(1e6 * (enrolled_s + ready_s) / load.trials, 1),
        "peak memory of the process, MB": round(peak_mb),
        f"queue server with {QUEUED} messages, MB": round(held_mb, 1),
        "make and send a message, CPU microseconds": round(1e6 * sent_s / QUEUED),
        "plain send_task of it, CPU microseconds": round(1e6 * peer_s / PEER),
    }
    for what, value in figures.items():
        print(f"{what:44} {value:>12,}")
    met = (
        (enrolled_s + ready_s) * 1e6 / load.trials <= GOAL_CPU_S
        and peak_mb <= GOAL_PROCESS_MB
        and held_mb <= GOAL_SERVER_MB
    )
    print(f"goals of {GOAL_CPU_S:g} CPU-s a million, {GOAL_PROCESS_MB:g} MB and "
          f"{GOAL_SERVER_MB:g} MB: {'met' if met else 'missed'}")  # fmt: skip
    if asked.out:
        asked.out.write_text(json.dumps(figures, indent=1))
    sys.exit(not met)


if __name__ == "__main__":
    main()
