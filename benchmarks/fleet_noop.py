"""What the fleet itself costs a trial, beside plain Celery with a SQLModel row a task.

    python benchmarks/fleet_noop.py                  # PostgreSQL where it is installed, else SQLite
    python benchmarks/fleet_noop.py --trials 4000 --out fleet_noop.json
    python benchmarks/fleet_noop.py --lean-peer      # told, not held against the goal

Ours: the scheduler and a worker, as processes, with everything but the pods: window, placement,
lease, message, start check, record, ingest with judgement and cell counts. The peer: a producer, a
worker with as many threads, and in each task one row written with SQLModel and committed; its
messages and rows are as large. CPU seconds are those of all processes, queue server and database
among them, between the first `--warm` trials and the last, read from a cgroup round them. Both run
without events. Goal: at most 1.25 times the peer. A lean peer keeps no note of what it fetched, as
our workers keep none: leases do that for them, nothing does for it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import redis
from cpu_group import CpuGroup
from ledger_load import NAME, matrix, record_of
from sqlalchemy import create_engine, text

from infranoise.models.ledger.attempts import Owed
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.store import open_store
from infranoise.scheduler.broker import embedded
from infranoise.scheduler.plan import plan
from infranoise.scheduler.window import Window

sys.path.append(str(Path(__file__).parents[1] / "tests/services"))
from own_postgres import find_postgres, own_postgres

HERE = Path(__file__).parent

GOAL = 1.25
LOOK_EVERY_S = 0.25
PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Stand:
    """A queue server and a database, whose processes are counted in a group."""

    broker: str
    store: str
    group: CpuGroup
    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, stack: ExitStack, words: list[str], **environ: str) -> None:
        """Start a process of the stand; it is told to end on leaving."""
        log = stack.enter_context((self.folder / f"{Path(words[-1]).name[:20]}.log").open("ab"))
        process = subprocess.Popen(
            [*self.group.join(), *words],
            env=os.environ | {"INFRANOISE_EVENTS": "0"} | environ,
            stdout=log,
            stderr=log,
        )
        stack.callback(_end, process)
        self.started.append(process)

    def last_words(self) -> str:
        """The ends of the logs."""
        return "\n".join(log.read_text()[-600:] for log in self.folder.glob("*.log"))

    @contextmanager
    def counter(self, table: str, condition: str = "true") -> Iterator[Callable[[], int]]:
        """Asks how many rows there are, over one connection: what looking costs is counted too."""
        engine = create_engine(self.store, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            asked = text(f"select count(*) from {table} where {condition}")
            yield lambda: int(connection.execute(asked).scalar_one())
        engine.dispose()


@contextmanager
def stand(name: str) -> Iterator[Stand]:
    """Servers of our own."""
    with ExitStack() as stack:
        group = stack.enter_context(CpuGroup(name))
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix=f"infranoise-{name}-"))
        )
        broker = stack.enter_context(embedded())
        with redis.Redis.from_url(broker) as client:
            server: dict[str, int] = client.info("server")  # type: ignore[assignment]
            group.take(server["process_id"])
        store = f"sqlite:///{folder / 'ledger.sqlite'}"
        programs = find_postgres()
        if programs:
            cluster = stack.enter_context(own_postgres(programs))
            group.take(cluster.pid)
            store = cluster.address
        yield Stand(broker, store, group, folder)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _spent(here: Stand, count: Callable[[], int], warm: int, trials: int) -> tuple[float, float]:
    """CPU and wall seconds a trial after the first ones."""
    deadline = time.monotonic() + PATIENCE_S

    def wait_for(target: int) -> tuple[int, float, float]:
        while (done := count()) < target:
            if time.monotonic() > deadline:
                sys.exit(f"only {done} of {trials} trials came home:\n{here.last_words()}")
            if any(process.poll() for process in here.started):
                sys.exit(f"a process has ended:\n{here.last_words()}")
            time.sleep(LOOK_EVERY_S)
        return done, here.group.cpu_s(), time.monotonic()

    first, last = wait_for(warm), wait_for(trials)
    done = last[0] - first[0]
    return (last[1] - first[1]) / done, (last[2] - first[2]) / done


def ours(trials: int, warm: int, slots: int) -> tuple[float, float, int]:
    """CPU and wall seconds a trial of the fleet, and the bytes of a message."""
    load = matrix(trials)
    with stand("noop-fleet") as here, ExitStack() as stack:
        engine = open_store(here.store)
        enrol(engine, load.experiment, load.tasks, plan(load.experiment, load.tasks).waves)
        window = Window.open(engine, NAME)
        window.top_up()
        message = window.message(next(iter(window.ready.values())), 1, 0.0)
        engine.dispose()
        where = {"INFRANOISE_STORE": here.store, "INFRANOISE_BROKER_URL": here.broker}
        node = [sys.executable, str(HERE / "noop_node.py"), here.broker, str(slots)]
        here.start(stack, node)
        here.start(stack, [sys.executable, "-m", "infranoise", "scheduler"], **where)
        count = stack.enter_context(here.counter("trial", "accepted is not null"))
        spent = _spent(here, count, warm, trials)
    return *spent, len(message.encode())


def peer(
    trials: int, warm: int, slots: int, order_bytes: int, *, lean: bool
) -> tuple[float, float]:
    """The same of plain Celery."""
    record_bytes = len(record_of(0, Owed("t" * 20, 0, 0, 1)).encode())
    with stand("noop-plain") as here, ExitStack() as stack:
        where = {"INFRANOISE_PEER_BROKER": here.broker, "INFRANOISE_PEER_STORE": here.store}
        where["INFRANOISE_PEER_LEAN"] = "1" if lean else ""
        program = str(HERE / "plain_celery.py")
        sizes = [str(order_bytes), str(record_bytes)]
        made = subprocess.run([sys.executable, program, "0", *sizes], env=os.environ | where)
        made.check_returncode()
        celery = [sys.executable, "-m", "celery", "--app", "plain_celery", "worker", "--pool"]
        flags = ["threads", "--concurrency", str(slots), "--without-gossip", "--without-mingle"]
        here.start(stack, [*celery, *flags], PYTHONPATH=_python_path(), **where)
        here.start(stack, [sys.executable, program, str(trials), *sizes], **where)
        count = stack.enter_context(here.counter("plainresult"))
        return _spent(here, count, warm, trials)


def _python_path() -> str:
    return os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))


def main() -> None:
    """Measure one after the other, print, write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=4_000)
    parser.add_argument("--warm", type=int, default=500)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--lean-peer", action="store_true", help="a peer that keeps no notes")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    cpu_s, wall_s, order_bytes = ours(asked.trials, asked.warm, asked.slots)
    sizes = (asked.trials, asked.warm, asked.slots, order_bytes)
    plain_cpu_s, plain_wall_s = peer(*sizes, lean=asked.lean_peer)
    ratio = cpu_s / plain_cpu_s
    store = "PostgreSQL" if find_postgres() else "SQLite"
    print(f"{store}, {asked.slots} slots{'CPU us a trial':>34}{'wall us a trial':>18}")
    print(f"{'infranoise: lease, start check, ingest':42}{1e6 * cpu_s:10.0f}{1e6 * wall_s:18.0f}")
    print(
        f"{'plain Celery and a SQLModel row':42}{1e6 * plain_cpu_s:10.0f}{1e6 * plain_wall_s:18.0f}"
    )
    told = "not held against it" if asked.lean_peer else "met" if ratio <= GOAL else "missed"
    print(f"{ratio:.2f} times the peer; goal of {GOAL}: {told}")
    if asked.out:
        figures = {"cpu_s": cpu_s, "peer_cpu_s": plain_cpu_s, "ratio": ratio, "store": store}
        asked.out.write_text(json.dumps(figures, indent=1))
    sys.exit(ratio > GOAL and not asked.lean_peer)


if __name__ == "__main__":
    main()
