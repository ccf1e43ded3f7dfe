"""What a fleet's scheduler has to look at: experiments with something owed or under way."""

from dataclasses import dataclass

from sqlalchemy import Engine, exists, select

from .foreign_known import FINGERPRINT
from .states import State
from .tables import ATTEMPT, EXPERIMENT, KILL_REPLAY, TRIAL


@dataclass(frozen=True, slots=True)
class OpenWork:
    """An experiment that is not done: its state, and whether attempts of it are under way."""

    state: State
    under_way: bool


def open_work(engine: Engine) -> dict[str, OpenWork]:
    """Every experiment of ours with trials or replays owed or attempts under way, oldest first."""
    owes = exists().where(TRIAL.c.experiment == EXPERIMENT.c.name, TRIAL.c.accepted.is_(None))
    replays = exists().where(
        KILL_REPLAY.c.experiment == EXPERIMENT.c.name, KILL_REPLAY.c.state == "open"
    )
    runs = exists().where(ATTEMPT.c.experiment == EXPERIMENT.c.name, ATTEMPT.c.state == "placed")
    query = (
        select(EXPERIMENT.c.name, EXPERIMENT.c.state, runs)
        .where(EXPERIMENT.c.fingerprint != FINGERPRINT, owes | replays | runs)
        .order_by(EXPERIMENT.c.created_at, EXPERIMENT.c.name)
    )
    with engine.connect() as connection:
        return {
            name: OpenWork(state, bool(under_way))
            for name, state, under_way in connection.execute(query)
        }


def blobs_of(engine: Engine, experiment: str) -> str:
    """Where an experiment's tasks lie packed for a fleet; "": on this machine alone."""
    query = select(EXPERIMENT.c.blobs).where(EXPERIMENT.c.name == experiment)
    with engine.connect() as connection:
        return connection.scalar(query) or ""
