"""Finding a trial by what people have in hand: an id, an attempt's id, or the begin of its key."""

import json
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Engine, or_, select

from ..trial import CellKey, TrialKey
from .tables import CELL, TRIAL

MOST = 20  # more than so many are not an answer


@dataclass(frozen=True, slots=True)
class Found:
    """A trial, its experiment and its key; `accepted` is the attempt whose outcome counts."""

    id: str
    experiment: str
    key: TrialKey
    wave: int
    accepted: str | None


def find_trials(engine: Engine, text: str, *, experiment: str | None = None) -> tuple[Found, ...]:
    """Up to `MOST` trials that a text means.

    Args:
        text: a trial's id or its begin, an attempt's id (`<trial>.<number>`), or a key or its begin
            (`headroom/mosaic|lean|1x|#3`).
        experiment: of this one alone.
    """
    query = (
        select(
            *(TRIAL.c[name] for name in ("id", "experiment", "sample", "wave", "accepted")),
            *(CELL.c[name] for name in ("task", "entry", "band", "levels")),
        )
        .join_from(TRIAL, CELL, TRIAL.c.cell == CELL.c.id)
        .where(_means(text))
        .order_by(TRIAL.c.experiment, TRIAL.c.position)
        .limit(MOST)
    )
    if experiment is not None:
        query = query.where(TRIAL.c.experiment == experiment)
    with engine.connect() as connection:
        return tuple(
            Found(id_, name, _key(task, entry, band, levels, sample), wave, accepted)
            for id_, name, sample, wave, accepted, task, entry, band, levels in connection.execute(
                query
            )
        )


def _means(text: str) -> ColumnElement[bool]:
    trial, dot, number = text.partition(".")
    if dot and number.isdecimal():
        return TRIAL.c.id == trial
    cell, mark, sample = text.rpartition("|#")
    if mark and sample.isdecimal():
        return (CELL.c.key == cell) & (TRIAL.c.sample == int(sample))
    begins = CELL.c.key.startswith(text.removesuffix("|#"), autoescape=True)
    return or_(TRIAL.c.id.startswith(text, autoescape=True), begins)


def _key(task: str, entry: str, band: str, levels: str, sample: int) -> TrialKey:
    pairs = tuple((name, level) for name, level in json.loads(levels))
    return TrialKey(cell=CellKey(task=task, entry=entry, band=band, levels=pairs), sample=sample)
