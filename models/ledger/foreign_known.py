"""What the ledger already holds of an imported experiment."""

import json
from dataclasses import dataclass, field

from sqlalchemy import select
from sqlalchemy.engine import Connection

from ..band import Band
from ..entry import Entry
from ..errors import LedgerError
from ..waves import Levels
from .tables import BAND, CELL, ENTRY, EXPERIMENT, TASK, WAVE

FINGERPRINT = "imported"

type Key = tuple[str, str, str, Levels]
"""Task, entry, band and further levels of a cell."""


@dataclass(slots=True)
class Known:
    """The nouns there are: waves by entry and run, cells by key, samples so far by cell's id.

    `factors` is None where there is no cell yet.
    """

    exists: bool = False
    factors: tuple[str, ...] | None = None
    tasks: set[str] = field(default_factory=set)
    entries: dict[str, Entry] = field(default_factory=dict)
    bands: dict[str, Band] = field(default_factory=dict)
    waves: dict[tuple[str, str], int] = field(default_factory=dict)
    cells: dict[Key, int] = field(default_factory=dict)
    samples: dict[int, int] = field(default_factory=dict)


def known(connection: Connection, experiment: str) -> Known:
    """Everything there is of an imported experiment; empty where there is none.

    Raises:
        LedgerError: an experiment of that name was run here, not imported.
    """
    found = connection.scalar(
        select(EXPERIMENT.c.fingerprint).where(EXPERIMENT.c.name == experiment)
    )
    if found is None:
        return Known()
    if found != FINGERPRINT:
        raise LedgerError(
            f"experiment {experiment}: was run here, not imported; import under another --name, "
            "or into another store (--store)"
        )
    cells, samples = _cells(connection, experiment)
    return Known(
        exists=True,
        factors=tuple(name for name, _ in next(iter(cells))[3]) if cells else None,
        tasks=set(
            connection.scalars(select(TASK.c.name).where(TASK.c.experiment == experiment)).all()
        ),
        entries=_entries(connection, experiment),
        bands=_bands(connection, experiment),
        waves=_waves(connection, experiment),
        cells=cells,
        samples=samples,
    )


def to_json(levels: object) -> str:
    """Pairs of a factor and its level, as the ledger keeps them."""
    return json.dumps(levels, ensure_ascii=False)


def _entries(connection: Connection, experiment: str) -> dict[str, Entry]:
    query = select(ENTRY.c.document).where(ENTRY.c.experiment == experiment).order_by(ENTRY.c.id)
    found = (Entry.model_validate_json(text) for text in connection.scalars(query))
    return {entry.name: entry for entry in found}


def _bands(connection: Connection, experiment: str) -> dict[str, Band]:
    query = select(BAND.c.document).where(BAND.c.experiment == experiment).order_by(BAND.c.place)
    found = (Band.model_validate_json(text) for text in connection.scalars(query))
    return {band.name: band for band in found}


def _waves(connection: Connection, experiment: str) -> dict[tuple[str, str], int]:
    query = select(WAVE.c.number, WAVE.c.levels).where(WAVE.c.experiment == experiment)
    told = ((number, dict(json.loads(text))) for number, text in connection.execute(query))
    return {(levels["entry"], levels["run"]): number for number, levels in told}


def _cells(connection: Connection, experiment: str) -> tuple[dict[Key, int], dict[int, int]]:
    columns = (CELL.c.id, CELL.c.task, CELL.c.entry, CELL.c.band, CELL.c.levels, CELL.c.planned)
    cells: dict[Key, int] = {}
    samples: dict[int, int] = {}
    query = select(*columns).where(CELL.c.experiment == experiment)
    for id_, task, entry, band, levels, planned in connection.execute(query):
        pairs = tuple((str(name), str(level)) for name, level in json.loads(levels))
        cells[task, entry, band, pairs] = id_
        samples[id_] = planned
    return cells, samples
