"""Whether a fleet works on an experiment: active, paused, cancelled."""

from typing import Literal

from sqlalchemy import Engine, select, update

from ..errors import LedgerError
from .events import write_event
from .tables import EXPERIMENT
from .writing import writing

State = Literal["active", "paused", "cancelled"]


def set_state(engine: Engine, experiment: str, state: State) -> None:
    """Set an experiment's state; noted as an event.

    Raises:
        LedgerError: there is no such experiment.
    """
    query = update(EXPERIMENT).where(EXPERIMENT.c.name == experiment).values(state=state)
    with writing(engine) as connection:
        if not connection.execute(query).rowcount:
            raise LedgerError(f"no experiment {experiment!r} in this store")
        write_event(connection, experiment, state)


def states(engine: Engine) -> dict[str, State]:
    """The state of every experiment, oldest first."""
    query = select(EXPERIMENT.c.name, EXPERIMENT.c.state).order_by(EXPERIMENT.c.created_at)
    with engine.connect() as connection:
        return {name: state for name, state in connection.execute(query)}
