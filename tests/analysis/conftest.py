"""A small ledger with a known story, made through the ledger's own doors."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from sqlalchemy import Engine

from infranoise.models.conditions import Clocks, Conditions, Usage
from infranoise.models.counters import Counters
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import Owed, owed, place
from infranoise.models.ledger.enrol import enrol
from infranoise.models.ledger.ingest import Ending, ingest
from infranoise.models.ledger.nodes import write_node
from infranoise.models.ledger.store import open_store
from infranoise.models.limits import Effective
from infranoise.models.load import Load
from infranoise.models.message import AttemptRecord
from infranoise.models.node import NodeProfile
from infranoise.models.task import Task
from infranoise.models.trial import CellKey
from infranoise.scheduler.plan import limits_of, plan

NODE = "local"
PROFILE = NodeProfile(
    architecture="x86_64", kernel="6.1", cpu_model="Test CPU", cpu_cores=2, memory_bytes=8 * 2**30
)
HEAVY_SURVIVES = {"suite/a": 1.0, "suite/b": 2.0, "suite/c": 99.0}  # the ceiling it needs

type Tells = Callable[[CellKey, int], Evidence]


def solved(*, kills: int = 0) -> Evidence:
    """A pass, with so many children killed on the way."""
    return Evidence(phases=_phases(agent=0, kills=kills), reward=1.0, enforcement="test")


def wrong() -> Evidence:
    """A failure of the entry."""
    return Evidence(phases=_phases(agent=0), reward=0.0, answered="yes", enforcement="test")


def killed() -> Evidence:
    """The agent's own process, killed at its ceiling."""
    return Evidence(phases=_phases(agent=137, kills=1), reward=0.0, enforcement="test")


def child_killed() -> Evidence:
    """A child killed, and the trial lost."""
    return Evidence(phases=_phases(agent=0, kills=1), reward=0.0, enforcement="test")


def _phases(agent: int, kills: int = 0) -> tuple[Phase, ...]:
    return (
        Phase(name="setup", exit_code=0, oom_kills=0),
        Phase(name="agent", exit_code=agent, oom_kills=kills),
        Phase(name="verifier", exit_code=0, oom_kills=0),
    )


def headroom(cell: CellKey, sample: int) -> Evidence:
    """Lean always passes; heavy is killed below what its task needs, but for one lone child."""
    if cell.entry == "lean":
        return solved()
    ceiling = 99.0 if cell.band == "uncapped" else float(cell.band.removesuffix("x"))
    if ceiling >= HEAVY_SURVIVES.get(cell.task, 1.0):
        return solved(kills=int(cell.task == "suite/b" and cell.band == "2x" and sample == 0))
    return child_killed() if cell.task == "suite/c" and cell.band == "2x" else killed()


@pytest.fixture
def make_ledger(
    tmp_path: Path, make_task: Callable[..., Task], make_experiment: Callable[..., Experiment]
) -> Callable[..., Engine]:
    """A ledger of a small headroom experiment; `tells` gives each trial's evidence, `hour` when a
    sample's wave ran.
    """

    def make(
        tells: Tells = headroom,
        tasks: Sequence[str] = tuple(HEAVY_SURVIVES),
        stop_after: int | None = None,
        hour: Callable[[int], int] = lambda sample: 3,
        **more: object,
    ) -> Engine:
        made = [make_task(name) for name in tasks]
        experiment = make_experiment(**{"bands": BANDS, **more})
        engine = open_store(tmp_path / f"{experiment.name}.sqlite")
        planned = plan(experiment, made)
        enrol(engine, experiment, made, planned.waves, left_out=["suite/z: no verifier"])
        keys = {trial.id: trial.key for trial in planned.trials}
        going = owed(engine, experiment.name)[:stop_after]
        _send(engine, experiment.name, going)
        records = [
            _at(
                hour(keys[trial.id].sample),
                _record(
                    experiment, made, trial.id, keys[trial.id].cell, keys[trial.id].sample, tells
                ),
            )
            for trial in going
        ]
        ingest(engine, [Ending.of(record) for record in records], experiment.run.max_attempts)
        write_node(engine, NODE, PROFILE)
        return engine

    return make


@pytest.fixture
def send() -> Callable[[Engine, str, Sequence[Owed]], None]:
    """Places attempts on the node."""
    return _send


def _send(engine: Engine, experiment: str, trials: Sequence[Owed]) -> None:
    place(engine, experiment, NODE, trials)


BANDS = [
    {"name": name, "memory": {"floor": 1.0, "ceiling": ceiling}}
    for name, ceiling in (("1x", 1.0), ("2x", 2.0), ("uncapped", "uncapped"))
]


def _at(hour: int, record: AttemptRecord) -> AttemptRecord:
    conditions = record.conditions.model_copy(update={"hour_utc": hour})
    return record.model_copy(update={"conditions": conditions})


def _record(
    experiment: Experiment,
    tasks: Sequence[Task],
    trial: str,
    cell: CellKey,
    sample: int,
    tells: Tells,
) -> AttemptRecord:
    task = next(t for t in tasks if t.name == cell.task)
    limits = limits_of(experiment, task, cell.band)
    counters = Counters(source="test", oom_kills=0, memory_peak_bytes=1_000_000, cpu_s=0.5)
    return AttemptRecord(
        attempt_id=f"{trial}.1",
        trial_id=trial,
        experiment=experiment.name,
        number=1,
        evidence=tells(cell, sample),
        conditions=Conditions(
            node=NODE,
            node_profile=PROFILE.profile_hash,
            runtime="process",
            network="none",
            requested=limits,
            effective=Effective(
                memory_ceiling_bytes=limits.memory_ceiling_bytes,
                enforcement="test",
                differs=("cpu floor: not in force",) if cell.band == "1x" else (),
            ),
            slots=2,
            co_running_peak=1,
            load_start=Load(load1=0.5),
            hour_utc=3,
            weekday=1,
        ),
        usage=Usage(counters=counters, overhead_cpu_s=0.02),
        clocks=Clocks(received_at=100.0, agent_s=1.0 + sample, ended_at=103.0 + sample),
        worker_version="0.1.0",
    )
