"""How many rows does a CPU second write? Ours in bulk, beside one SQLModel row at a time.

    python benchmarks/ledger.py                    # both databases; a minute or two
    python benchmarks/ledger.py --rows 8000        # fewer rows
    python benchmarks/ledger.py --out ledger.json

Rows are trials of a plan (enrol), attempts on their way out (place), and endings with a record of
some 4 kB each, judged and counted in their cells (ingest, in batches as the scheduler has them).
The peer does the same with a session that adds or changes one row and commits. CPU is that of the
writing process, and, apart, that of PostgreSQL's server. Each is measured five times and its best
told: what else the machine does only adds. Reading a record off the wire is told beside ingest.
PostgreSQL takes part where its server is installed. Ends with status 1 if a goal is missed.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import batched, islice
from pathlib import Path

from ledger_load import NAME, Matrix, matrix, records
from sqlalchemy import Engine, create_engine
from sqlmodel import Session

from infranoise.models.classify import classify
from infranoise.models.ledger.attempts import JUDGED, Owed, judgement, owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.rows import AttemptRow, CellRow, TrialRow
from infranoise.models.ledger.store import open_store
from infranoise.models.message import AttemptRecord
from infranoise.scheduler.plan import plan

sys.path.append(str(Path(__file__).parents[1] / "tests/services"))
from own_postgres import OwnPostgres, find_postgres, own_postgres

ROWS = 20_000
BATCH = 500  # as many records as the scheduler takes off the queue at once
PEER_SHARE = 20  # the peer writes one row of so many
REPEATS = 5
GOAL_ROWS_PER_CPU_S = 20_000
OURS, PEER = "ours: ", "SQLModel row by row: "
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Store:
    """A database under test; `server` is its process, where it has one."""

    name: str
    make: Callable[[], Engine]
    server: int | None = None


@dataclass(slots=True)
class Cost:
    """CPU seconds of one repeat, and the rows that they went to."""

    rows: int = 0
    client_s: float = 0.0
    server_s: float = 0.0


class Costs:
    """What was spent in one repeat, by store and task."""

    def __init__(self) -> None:
        self.all: dict[tuple[str, str], Cost] = {}

    @contextmanager
    def of(self, store: Store, what: str, rows: int) -> Iterator[None]:
        """Charge the block."""
        cost = self.all.setdefault((store.name, what), Cost())
        server_s = _cpu_s(store.server)
        client_s = time.process_time()
        yield
        cost.client_s += time.process_time() - client_s
        cost.server_s += _cpu_s(store.server) - server_s
        cost.rows += rows


@dataclass(frozen=True, slots=True)
class Result:
    """CPU microseconds a row, the best of the repeats."""

    store: str
    what: str
    rows: int
    client_us: float
    server_us: float

    @property
    def rows_per_cpu_s(self) -> float:
        """Of the client's CPU."""
        return 1e6 / self.client_us


def ours(store: Store, load: Matrix, costs: Costs) -> None:
    """Enrol the plan, place every trial, take every ending in."""
    engine = store.make()
    made = plan(load.experiment, load.tasks)
    with costs.of(store, OURS + "enrol a plan", load.trials):
        enrol(engine, load.experiment, load.tasks, made.waves)
    for window in batched(owed(engine, NAME), BATCH):
        with costs.of(store, OURS + "place", len(window)):
            place(engine, NAME, "node-17", window)
        texts = [record.encode() for record in records(window)]
        with costs.of(store, "reading a record off the wire", len(window)):
            endings = [Ending.of(AttemptRecord.decode(text)) for text in texts]
        with costs.of(store, OURS + "ingest", len(window)):
            took = ingest(engine, endings, 1)
        assert len(took) == len(window)
    engine.dispose()


def peer(store: Store, load: Matrix, costs: Costs) -> None:
    """The same, one row at a time, each with a commit of its own."""
    engine, count = store.make(), load.trials // PEER_SHARE
    enrol(engine, load.experiment, load.tasks, ())
    made = plan(load.experiment, load.tasks).trials
    few = tuple(Owed(trial.id, 0, place, 1) for place, trial in enumerate(islice(made, count)))
    with Session(engine) as session:
        session.add(CellRow(id=1, experiment=NAME, key="k", task="t", entry="e", band="1x"))
        session.commit()
        with costs.of(store, PEER + "enrol a plan", count):
            for trial in few:
                session.add(_trial_row(trial))
                session.commit()
        with costs.of(store, PEER + "place", count):
            for trial in few:
                session.add(_attempt_row(trial))
                session.commit()
        endings = [Ending.of(record) for record in records(few)]
        session.expunge_all()
        with costs.of(store, PEER + "ingest", count):
            for ending in endings:
                _end(session, ending)
    engine.dispose()


def _trial_row(trial: Owed) -> TrialRow:
    where = {"sample": trial.position, "wave": trial.wave, "position": trial.position}
    return TrialRow(id=trial.id, experiment=NAME, cell=1, **where)


def _attempt_row(trial: Owed) -> AttemptRow:
    return AttemptRow(
        id=f"{trial.id}.1",
        experiment=NAME,
        trial=trial.id,
        number=1,
        node="node-17",
        placed_at=time.time(),
    )


def _end(session: Session, ending: Ending) -> None:
    """What ingest does to one ending that is the first of its trial, and no more than that."""
    attempt = session.get_one(AttemptRow, ending.attempt)
    trial = session.get_one(TrialRow, attempt.trial)
    cell = session.get_one(CellRow, trial.cell)
    outcome = classify(ending.evidence)
    attempt.state, attempt.ended_at, attempt.record = "ended", ending.ended_at, ending.record
    for name, value in zip(JUDGED, judgement(outcome)):
        setattr(attempt, name, value)
    trial.accepted = attempt.id
    infra = outcome.verdict == "infra_error"
    reward = 0.0 if infra else outcome.reward
    cell.n += 1
    cell.passed += outcome.verdict == "passed"
    cell.infra_errors += infra
    cell.reward_sum += reward
    cell.reward_sumsq += reward * reward
    session.commit()


@contextmanager
def stores() -> Iterator[list[Store]]:
    """The databases that there are here, each making empty stores."""
    with tempfile.TemporaryDirectory(prefix="infranoise-ledger-") as folder:
        files = (Path(folder) / f"{number}.sqlite" for number in range(10**6))
        sqlite = Store("SQLite", lambda: open_store(next(files)))
        programs = find_postgres()
        if programs is None:
            print("PostgreSQL's server is not installed: its rows are left out")
            yield [sqlite]
            return
        with own_postgres(programs) as server:
            made = iter(range(10**6))
            make = lambda: open_store(_schema(server, next(made)))  # noqa: E731
            yield [sqlite, Store("PostgreSQL", make, server.pid)]


def _schema(server: OwnPostgres, number: int) -> str:
    engine = create_engine(server.address)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA s{number}")
    engine.dispose()
    return f"{server.address}&options=-csearch_path%3Ds{number}"


def _cpu_s(server: int | None) -> float:
    """CPU seconds of a server and its processes, those that have ended among them."""
    total = 0.0
    if server is None:
        return total
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            said = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == server:
            total += sum(map(int, said[11:15])) * TICK_S
        elif int(said[1]) == server:
            total += sum(map(int, said[11:13])) * TICK_S
    return total


def summed(repeats: Sequence[Costs]) -> list[Result]:
    """The best repeat of each task."""
    results = []
    for store, what in repeats[0].all:
        costs = [repeat.all[store, what] for repeat in repeats]
        client, server = (
            min(getattr(cost, name) / cost.rows * 1e6 for cost in costs)
            for name in ("client_s", "server_s")
        )
        results.append(Result(store, what, costs[0].rows, client, server))
    return results


def show(results: Sequence[Result]) -> bool:
    """Print what was measured; whether every goal is met."""
    print(f"{'':48}{'rows':>8}{'us CPU a row':>14}{'rows/CPU-s':>12}{'server us':>11}")
    for r in results:
        server = f"{r.server_us:11.1f}" if r.store == "PostgreSQL" else ""
        print(f"{r.store:12}{r.what:36}{r.rows:8,}{r.client_us:14.1f}"
              f"{r.rows_per_cpu_s:12,.0f}{server}")  # fmt: skip
    slow = {(r.store, r.what.removeprefix(PEER)): r for r in results if r.what.startswith(PEER)}
    missed = False
    for r in results:
        if not r.what.startswith(OURS):
            continue
        times = r.rows_per_cpu_s / slow[r.store, r.what.removeprefix(OURS)].rows_per_cpu_s
        short = r.rows_per_cpu_s < GOAL_ROWS_PER_CPU_S
        missed |= short
        goal = f"goal of {GOAL_ROWS_PER_CPU_S:,} rows/CPU-s: {'missed' if short else 'met'}"
        print(f"{r.store}, {r.what}: {times:.0f} times the rows of the peer; {goal}")
    return not missed


def main() -> None:
    """Measure, print, and write the figures if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="at least so many")
    parser.add_argument("--out", type=Path, help="write the figures here, as JSON")
    asked = parser.parse_args()
    load, repeats = matrix(asked.rows), [Costs() for _ in range(REPEATS)]
    with stores() as found:
        for costs in repeats:
            for store in found:
                ours(store, load, costs)
                peer(store, load, costs)
    record = next(records((Owed("0" * 16, 0, 1, 1),)))
    print(f"a record has {len(record.encode()):,} bytes; batches of {BATCH}; best of {REPEATS}")
    results = summed(repeats)
    met = show(results)
    if asked.out:
        asked.out.write_text(json.dumps([asdict(r) for r in results], indent=1))
    sys.exit(not met)


if __name__ == "__main__":
    main()
