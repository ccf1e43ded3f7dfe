"""One trial of Terminal-Bench as a foreign trial. Pure.

Source: Terminal-Bench 0.2, `terminal_bench.harness.models.TrialResults`.
"""

from typing import Any, NamedTuple

from ..models.band import Band
from ..models.conditions import UNRECORDED
from ..models.errors import SourceFault
from ..models.foreign import (
    Facts,
    ForeignAttempt,
    ForeignTrial,
    told_clocks,
    told_origin,
    told_usage,
)
from .bounded import Where
from .ending import Ending, evidence_of
from .fields import count, part, word
from .json_bounded import Object
from .labels import label
from .moments import between, hour_of, moment, seconds
from .overlap import Neighbours
from .reading import Choices
from .tb_run import Run
from .untold import named_task

NO_BAND = Band(name=UNRECORDED, stated=False)
MOMENTS = (
    *("trial_started_at", "agent_started_at", "agent_ended_at"),
    *("test_started_at", "test_ended_at", "trial_ended_at"),
)


class Told(NamedTuple):
    """A trial as some file tells it, where in the file, and the trial's own id."""

    path: Where
    place: str
    raw: Object
    id: str


def told_in(path: Where, place: str, value: object) -> Told:
    """A trial in some place of a file. Its id is its own; of the oldest results, its run's and its
    own name.

    Raises:
        SourceFault: it has neither, or is no object.
    """
    raw = part(path, place, value)
    id_ = word(raw.get("id")) or word(raw.get("uuid"))
    return Told(path, place, raw, id_ or label(path, f"{place}.trial_name", raw.get("trial_name")))


def clocks_of(told: Told) -> Facts:
    """The clocks of a trial.

    Raises:
        SourceFault: a time is none.
    """
    path, place, raw, _ = told
    try:
        moments = [seconds(raw.get(name)) for name in MOMENTS]
    except (TypeError, ValueError):
        moments = [moment(path, f"{place}.{name}", raw.get(name)) for name in MOMENTS]
    started, agent_start, agent_end, test_start, test_end, ended = moments
    return told_clocks(
        received_at=started,
        prepare_s=None,
        start_s=between(started, agent_start),
        setup_s=None,
        agent_s=between(agent_start, agent_end),
        verifier_s=between(test_start, test_end),
        stop_s=None,
        ended_at=ended,
    )


def trial_of(
    told: Told, clocks: Facts, run: Run, around: Neighbours, choices: Choices
) -> ForeignTrial:
    """A trial of a run, with its clocks and its neighbours.

    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    path, place, raw, id_ = told
    task = label(path, f"{place}.task_id", raw.get("task_id"))
    mode = word(raw.get("failure_mode"))
    judged = choices.modes.word(mode)
    reward = _reward(path, place, raw)
    walls: dict[Any, float | None] = {"agent": clocks["agent_s"]}
    if reward is not None or clocks["verifier_s"] is not None:
        walls["verifier"] = clocks["verifier_s"]
    attempt = ForeignAttempt(
        evidence=evidence_of(
            Ending(judged, mode, reward=reward, walls=walls, settled=choices.modes.settles(mode))
        ),
        conditions=_conditions(clocks, run, around),
        usage=told_usage(
            input_tokens=count(raw.get("total_input_tokens")),
            output_tokens=count(raw.get("total_output_tokens")),
        ),
        clocks=clocks,
        origin=told_origin(
            kind="terminal-bench",
            id=id_,
            run=run.name,
            mode=mode,
            judged=judged,
            harness=run.harness,
        ),
    )
    return ForeignTrial(
        identity=f"terminal-bench/{id_}",
        task=named_task(task),
        entry=run.entry,
        band=choices.band or NO_BAND,
        levels=run.levels,
        run=run.name,
        attempts=(attempt,),
    )


def _conditions(clocks: Facts, run: Run, around: Neighbours) -> Facts:
    hour = hour_of(clocks["received_at"])
    return {
        **run.conditions,
        "co_running_start": around.start,
        "co_running_peak": around.peak,
        "co_running_end": around.end,
        "hour_utc": hour.hour_utc,
        "weekday": hour.weekday,
    }


def _reward(path: Where, place: str, raw: Object) -> float | None:
    resolved = raw.get("is_resolved")
    if resolved is None or isinstance(resolved, bool):
        return None if resolved is None else float(resolved)
    raise SourceFault(path, f"{place}.is_resolved", f"{resolved!r:.60} is neither true nor false")
