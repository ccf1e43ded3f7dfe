"""What the ledger's benchmarks write: a leaderboard's matrix, and records as nodes send them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from infranoise.models.conditions import Clocks, Conditions, Usage
from infranoise.models.counters import Counters
from infranoise.models.evidence import Evidence, Phase
from infranoise.models.execution import Stream
from infranoise.models.experiment import Experiment
from infranoise.models.ledger.attempts import Owed
from infranoise.models.limits import Effective, Limits
from infranoise.models.load import Load
from infranoise.models.message import Artefact, AttemptRecord, Logs
from infranoise.models.spec import Spec
from infranoise.models.task import Task
from infranoise.models.trial import attempt_id

TASKS, ENTRIES, BANDS = 89, 4, 6
NAME = "load"
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Matrix:
    """An experiment of about as many trials as were asked for."""

    experiment: Experiment
    tasks: tuple[Task, ...]

    @property
    def trials(self) -> int:
        """How many there are."""
        return TASKS * ENTRIES * BANDS * self.experiment.samples


def matrix(trials: int) -> Matrix:
    """At least so many trials: 89 tasks x 4 entries x 6 bands, as often as it takes."""
    samples = -(-trials // (TASKS * ENTRIES * BANDS))
    experiment = Experiment.model_validate(
        {
            "name": NAME,
            "tasks": ("any",),
            "samples": samples,
            "entries": [{"agent": "a", "model": f"m{n}"} for n in range(ENTRIES)],
            "pods": {"runtime": "process"},
        }
    )
    spec = Spec(cpus=1, memory_mib=2048, storage_mib=10_240, agent_timeout_s=900)
    tasks = tuple(
        Task(
            name=f"suite/task-{n:02}",
            title="",
            directory=Path("/tasks"),
            content_hash=f"c{n}",
            environment_hash=f"e{n}",
            spec=spec,
        )
        for n in range(TASKS)
    )
    return Matrix(experiment, tasks)


def records(trials: tuple[Owed, ...]) -> Iterator[AttemptRecord]:
    """How these attempts ended: most passed or failed, one in sixteen was killed."""
    for place, trial in enumerate(trials):
        yield record_of(place, trial)


def record_of(place: int, trial: Owed) -> AttemptRecord:
    """How the attempt at this place in the load ended."""
    killed = place % 16 == 0
    return AttemptRecord(
        attempt_id=attempt_id(trial.id, trial.next_number),
        trial_id=trial.id,
        experiment=NAME,
        number=trial.next_number,
        evidence=_evidence(killed, reward=float(place % 3 > 0)),
        conditions=CONDITIONS,
        usage=Usage(counters=_counters(killed), agent_cpu_s=12.5, verifier_cpu_s=1.25),
        clocks=Clocks(received_at=1.77e9, agent_s=431.25, verifier_s=4.5, ended_at=1.77e9),
        logs=Logs(agent=Stream(tail="step\n" * 40, total_bytes=200), verifier=Stream()),
        artefacts=(Artefact(name=f"{trial.id}/log", sha256="0" * 64, size_bytes=200),),
        image_id="process:" + "0" * 64,
        worker_version="0.1.0",
    )


def _evidence(killed: bool, reward: float) -> Evidence:
    names = ("setup", "agent") if killed else ("setup", "agent", "verifier")
    phases = tuple(
        Phase(
            name=name,  # type: ignore[arg-type]
            exit_code=137 if killed and name == "agent" else 0,
            wall_s=12.5,
            oom_kills=int(killed and name == "agent"),
            counters=_counters(killed),
        )
        for name in names
    )
    return Evidence(phases=phases, reward=None if killed else reward)


def _counters(killed: bool) -> Counters:
    return Counters(
        source="cgroup-v2",
        oom_kills=int(killed),
        memory_peak_bytes=2 * GIB,
        anon_peak_bytes=2 * GIB - 4096,
        cpu_s=13.75,
        throttled_s=0.25,
        throttled_periods=17,
        pids_peak=41,
        rx_bytes=123_456,
        tx_bytes=12_345,
        storage_bytes=77_824,
        storage_exceeded=False,
    )


LOAD = Load(
    load1=7.25,
    psi_cpu_some10=12.5,
    psi_mem_some10=0.0,
    psi_mem_full10=0.0,
    psi_io_some10=1.5,
    psi_io_full10=0.0,
    steal_s=8.75,
    mem_available_bytes=23 * GIB,
    swap_used_bytes=0,
    system_oom_kills=1002,
)
LIMITS = Limits(memory_floor_bytes=2 * GIB, memory_ceiling_bytes=6 * GIB, cpu_floor=1.0)
CONDITIONS = Conditions(
    node="node-17",
    node_profile="841590061d3e49f9",
    runtime="process",
    network="public",
    requested=LIMITS,
    effective=Effective(
        memory_floor_bytes=2 * GIB,
        memory_ceiling_bytes=6 * GIB,
        memory_and_swap_bytes=6 * GIB,
        cpu_shares=1024,
        pids=4096,
        oom_scope="process",
        enforcement="cgroup-v2",
    ),
    slots=8,
    co_running_start=7,
    co_running_peak=7,
    co_running_end=6,
    load_start=LOAD,
    load_end=LOAD,
    hour_utc=3,
    weekday=1,
    agent_timeout_s=900.0,
    time_limit=1.0,
)
