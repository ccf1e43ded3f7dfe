"""Kill replays in the ledger: which ceilings were asked for, and which kills still wait.

A replay waits while its kill has no attempt at that ceiling that passed or failed, none under way,
and fewer infra errors there than the experiment grants attempts. It never touches its trial's
outcome or the counts of a cell.
"""

import time
from collections import Counter
from collections.abc import Sequence

from sqlalchemy import Engine, func, select, update
from sqlalchemy.engine import Connection

from ..experiment import Experiment
from ..replay import check_ceiling, replay_band
from .attempts import Owed, Replay
from .bulk import insert_if_absent
from .events import write_event
from .tables import ATTEMPT, CELL, KILL_REPLAY, TRIAL
from .writing import writing

ASKED = "kill replay asked"


def ask_replay(engine: Engine, experiment: Experiment, ceiling: str) -> None:
    """Write down that kills are to run again at a ceiling; asked twice, it is asked once.

    Raises:
        DesignError: it is neither a band nor a shorthand, or lies above no band.
    """
    check_ceiling(experiment.bands, ceiling)
    row: dict[str, object] = {
        "experiment": experiment.name,
        "ceiling": ceiling,
        "asked_at": time.time(),
        "state": "open",
    }
    with writing(engine) as connection:
        if insert_if_absent(connection, KILL_REPLAY, row):
            write_event(connection, experiment.name, ASKED, ceiling)
        else:
            _set_state(connection, experiment.name, "open", ceiling)


def replays_open(engine: Engine, experiment: str) -> bool:
    """Whether some ceiling was asked for whose kills may still have no replay."""
    query = select(func.count()).where(
        KILL_REPLAY.c.experiment == experiment, KILL_REPLAY.c.state == "open"
    )
    with engine.connect() as connection:
        return bool(connection.scalar(query))


def replays_done(engine: Engine, experiment: str, *, fence: int | None = None) -> None:
    """Write down that no kill waits for a replay at any ceiling that was asked for.

    Raises:
        Deposed: another scheduler leads now; nothing was written.
    """
    with writing(engine, fence) as connection:
        _set_state(connection, experiment, "done")


def owed_replays(engine: Engine, experiment: Experiment) -> tuple[Owed, ...]:
    """Kills that wait for their replay at the first ceiling at which some wait, in plan order."""
    with engine.connect() as connection:
        for ceiling in _asked(connection, experiment.name):
            if waiting := _waiting(connection, experiment, ceiling):
                return waiting
    return ()


def _asked(connection: Connection, experiment: str) -> Sequence[str]:
    query = select(KILL_REPLAY.c.ceiling).where(KILL_REPLAY.c.experiment == experiment)
    return connection.scalars(query.order_by(KILL_REPLAY.c.id)).all()


def _waiting(connection: Connection, experiment: Experiment, ceiling: str) -> tuple[Owed, ...]:
    below = [
        band.name
        for band in experiment.bands
        if replay_band(experiment.bands, band.name, ceiling) is not None
    ]
    tried, settled = _tried(connection, experiment.name, ceiling)
    last = (
        select(func.max(ATTEMPT.c.number))
        .where(ATTEMPT.c.trial == TRIAL.c.id)
        .correlate(TRIAL)
        .scalar_subquery()
    )
    kills = (
        select(ATTEMPT.c.id, TRIAL.c.id, TRIAL.c.wave, TRIAL.c.position, last)
        .join_from(TRIAL, ATTEMPT, TRIAL.c.accepted == ATTEMPT.c.id)
        .join(CELL, TRIAL.c.cell == CELL.c.id)
        .where(
            TRIAL.c.experiment == experiment.name,
            ATTEMPT.c.verdict == "infra_error",
            ATTEMPT.c.cause == "oom_killed",
            CELL.c.band.in_(below),
        )
        .order_by(TRIAL.c.position)
    )
    return tuple(
        Owed(trial, wave, position, number + 1, Replay(kill, ceiling))
        for kill, trial, wave, position, number in connection.execute(kills)
        if kill not in settled and tried[kill] < experiment.run.max_attempts
    )


def _tried(
    connection: Connection, experiment: str, ceiling: str
) -> tuple[Counter[str], frozenset[str]]:
    """Infra errors of each kill's replays, and the kills that have a verdict or one under way."""
    query = select(ATTEMPT.c.replay_of, ATTEMPT.c.state, ATTEMPT.c.verdict).where(
        ATTEMPT.c.experiment == experiment,
        ATTEMPT.c.replay_of.is_not(None),
        ATTEMPT.c.replay_in == ceiling,
    )
    rows = connection.execute(query).all()
    settled = {kill for kill, state, verdict in rows
               if state == "placed" or verdict in ("passed", "failed")}  # fmt: skip
    tried = Counter(kill for kill, _, verdict in rows if verdict == "infra_error")
    return tried, frozenset(settled)


def _set_state(connection: Connection, experiment: str, state: str, ceiling: str = "") -> None:
    query = update(KILL_REPLAY).where(KILL_REPLAY.c.experiment == experiment)
    if ceiling:
        query = query.where(KILL_REPLAY.c.ceiling == ceiling)
    connection.execute(query.values(state=state))
