"""A ledger as what analysis wants: cells from its counts, and its attempts as a table."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from sqlalchemy import Engine

from ..models.errors import LedgerError
from ..models.experiment import Experiment
from ..models.ledger import reading
from ..models.ledger.enrol import fingerprint_of
from ..models.ledger.events import last_document
from ..models.ledger.reading import CellCounts
from ..models.ledger.rounds import STOPPED
from ..models.ledger.sources import sources
from ..models.node import NodeProfile
from ..models.source import Source
from ..models.task import Task
from .attempt_frame import attempt_frame
from .cells import Cells
from .levels import ordered


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """What a ledger holds of one experiment.

    `cells` hold accepted outcomes only; `attempts` every attempt (see `attempt_frame`). `planned`
    counts trials, `planned_of` those of each entry. `nodes` are the last profiles of the nodes that
    attempts ran on; `sources` are what was imported, none where the experiment was run here.
    `stopped` is what a run that ended early had seen, as JSON.
    """

    experiment: Experiment
    fingerprint: str
    tasks: tuple[Task, ...]
    left_out: tuple[str, ...]
    planned: int
    cells: Cells
    attempts: pl.DataFrame
    nodes: Mapping[str, NodeProfile]
    events: tuple[reading.Event, ...]
    sources: tuple[Source, ...]
    stopped: str | None = None
    planned_of: Mapping[str, int] = field(default_factory=dict)


def read_study(engine: Engine, name: str | None = None) -> Study:
    """Everything that a report tells of an experiment; of the only one where no name is given.

    Raises:
        LedgerError: no such experiment; or several, and no name; the text lists them.
    """
    name = name or only_experiment(engine)
    experiment, tasks = reading.experiment(engine, name), reading.tasks(engine, name)
    counts = reading.cell_counts(engine, name)
    attempts = attempt_frame(reading.attempts(engine, name), factors_of(counts))
    ran_on = set(attempts["node"])
    return Study(
        experiment=experiment,
        fingerprint=fingerprint_of(experiment, tasks),
        tasks=tasks,
        left_out=reading.left_out(engine, name),
        planned=sum(cell.planned for cell in counts),
        cells=cells_of_counts(counts, experiment),
        attempts=attempts,
        nodes={n: p for n, p in reading.node_profiles(engine).items() if n in ran_on},
        events=reading.events(engine, name),
        sources=sources(engine, name),
        stopped=last_document(engine, name, STOPPED),
        planned_of=_planned_of(counts),
    )


def _planned_of(counts: Sequence[CellCounts]) -> Mapping[str, int]:
    planned: Counter[str] = Counter()
    for cell in counts:
        planned[cell.entry] += cell.planned
    return planned


def read_cells(engine: Engine, name: str | None = None) -> Cells:
    """Cells of an experiment from the counts that the ledger keeps; no trial is scanned.

    Raises:
        LedgerError: as `read_study`.
    """
    name = name or only_experiment(engine)
    return cells_of_counts(reading.cell_counts(engine, name), reading.experiment(engine, name))


def read_attempts(engine: Engine, name: str | None = None) -> pl.DataFrame:
    """Every attempt of an experiment, one row each; see `attempt_frame`.

    Raises:
        LedgerError: as `read_study`.
    """
    name = name or only_experiment(engine)
    return attempt_frame(
        reading.attempts(engine, name), factors_of(reading.cell_counts(engine, name))
    )


def cells_of_counts(counts: Sequence[CellCounts], experiment: Experiment) -> Cells:
    """Cells of a ledger's counts: bands and entries in the experiment's order, tasks in reading
    order, and every assigned factor; cells without an outcome only declare their labels."""
    factors = factors_of(counts)
    labels = {
        "task": [cell.task for cell in counts],
        "entry": [cell.entry for cell in counts],
        "band": [cell.band for cell in counts],
        **{name: [cell.levels[name] for cell in counts] for name in factors},
    }
    return Cells.of_counts(
        labels,
        n=[cell.n for cell in counts],
        passed=[cell.passed for cell in counts],
        infra=[cell.infra_errors for cell in counts],
        reward_sum=[cell.reward_sum for cell in counts],
        reward_sumsq=[cell.reward_sumsq for cell in counts],
        levels={
            "task": ordered(labels["task"]),
            "entry": [entry.name for entry in experiment.entries],
            "band": [band.name for band in experiment.bands],
        },
    )


def factors_of(counts: Sequence[CellCounts]) -> tuple[str, ...]:
    """Names of the assigned factors beside the band, in order."""
    return tuple(counts[0].levels) if counts else ()


def only_experiment(engine: Engine) -> str:
    """The name of a ledger's one experiment.

    Raises:
        LedgerError: there is none, or there are several.
    """
    known = reading.experiments(engine)
    if not known:
        raise LedgerError("this store holds no experiment; make one with `infranoise run FILE`")
    if len(known) > 1:
        raise LedgerError(
            f"this store holds {len(known)} experiments; choose one with --experiment: "
            + ", ".join(known)
        )
    return known[0]
