"""The keys of an experiment's trials, by trial id."""

import json
from functools import lru_cache

from sqlalchemy import Engine, select

from ..trial import CellKey, TrialKey
from .bulk import among
from .tables import CELL, TRIAL, WAVE


def trial_keys(engine: Engine, experiment: str, trials: list[str]) -> dict[str, TrialKey]:
    """The keys of these trials; ids that the experiment does not have are left out."""
    query = (
        select(TRIAL.c.id, TRIAL.c.sample, CELL.c.task, CELL.c.entry, CELL.c.band, CELL.c.levels)
        .join_from(TRIAL, CELL, TRIAL.c.cell == CELL.c.id)
        .where(TRIAL.c.experiment == experiment)
    )
    with engine.connect() as connection:
        query = query.where(among(connection, TRIAL.c.id, trials))
        return {
            id_: TrialKey(cell=_cell(task, entry, band, levels), sample=sample)
            for id_, sample, task, entry, band, levels in connection.execute(query)
        }


@lru_cache(maxsize=1 << 16)  # a cell is met once for each of its samples
def _cell(task: str, entry: str, band: str, levels: str) -> CellKey:
    pairs = tuple((name, level) for name, level in json.loads(levels))
    return CellKey(task=task, entry=entry, band=band, levels=pairs)


def wave_levels(engine: Engine, experiment: str) -> dict[int, tuple[tuple[str, str], ...]]:
    """What each wave sets for the whole of it, by wave number."""
    query = select(WAVE.c.number, WAVE.c.levels).where(WAVE.c.experiment == experiment)
    with engine.connect() as connection:
        return {
            number: tuple((name, level) for name, level in json.loads(levels))
            for number, levels in connection.execute(query)
        }
