"""One trial of Terminal-Bench as a foreign trial. Pure.

Source: Terminal-Bench 0.2, `terminal_bench.harness.models.TrialResults`.
"""

from pathlib import Path
from typing import Any

from ..models.band import Band
from ..models.conditions import UNRECORDED, Clocks, Usage
from ..models.errors import SourceFault
from ..models.foreign import ForeignAttempt, ForeignTrial
from ..models.origin import Origin
from ..models.task import Task
from .bounded import Object
from .ending import Ending, evidence_of
from .fields import count, word
from .labels import label
from .moments import between, hour_of, moment
from .overlap import Neighbours, Span
from .reading import Choices
from .tb_run import Run
from .untold import NO_CONDITIONS

NO_BAND = Band(name=UNRECORDED, stated=False)


def identity_of(path: Path, place: str, raw: Object) -> str:
    """The trial's own id; of the oldest results, its run's and its own name.

    Raises:
        SourceFault: it has neither.
    """
    id_ = word(raw.get("id")) or word(raw.get("uuid"))
    return id_ or label(path, f"{place}.trial_name", raw.get("trial_name"))


def span_of(path: Path, place: str, raw: Object) -> Span:
    """Start and end of a trial, in seconds."""
    start, end = (_at(path, place, raw, name) for name in ("trial_started_at", "trial_ended_at"))
    return None if start is None or end is None else (start, end)


def trial_of(
    path: Path, place: str, raw: Object, run: Run, around: Neighbours, choices: Choices
) -> ForeignTrial:
    """A trial of a run.

    Args:
        place: where in the file the trial stands, for faults.
    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    task = label(path, f"{place}.task_id", raw.get("task_id"))
    id_ = identity_of(path, place, raw)
    mode = word(raw.get("failure_mode"))
    judged = choices.modes.word(mode)
    reward = _reward(path, place, raw)
    clocks = _clocks(path, place, raw)
    walls: dict[Any, float | None] = {"agent": clocks.agent_s}
    if reward is not None or clocks.verifier_s is not None:
        walls["verifier"] = clocks.verifier_s
    hour = hour_of(clocks.received_at)
    attempt = ForeignAttempt(
        evidence=evidence_of(Ending(word=judged, mode=mode, reward=reward, walls=walls)),
        conditions=NO_CONDITIONS.model_copy(
            update={
                "slots": run.n_concurrent,
                "co_running_start": around.start,
                "co_running_peak": around.peak,
                "co_running_end": around.end,
                "hour_utc": hour.hour_utc,
                "weekday": hour.weekday,
            }
        ),
        usage=Usage(
            input_tokens=count(raw.get("total_input_tokens")),
            output_tokens=count(raw.get("total_output_tokens")),
        ),
        clocks=clocks,
        origin=Origin(
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
        task=Task(name=task, title=task, directory=Path(), content_hash="", environment_hash=""),
        entry=run.entry,
        band=choices.band or NO_BAND,
        levels=(("concurrency", str(run.n_concurrent)),) if run.n_concurrent is not None else (),
        run=run.name,
        attempts=(attempt,),
    )


def _reward(path: Path, place: str, raw: Object) -> float | None:
    resolved = raw.get("is_resolved")
    if resolved is None or isinstance(resolved, bool):
        return None if resolved is None else float(resolved)
    raise SourceFault(path, f"{place}.is_resolved", f"{resolved!r:.60} is neither true nor false")


def _at(path: Path, place: str, raw: Object, name: str) -> float | None:
    return moment(path, f"{place}.{name}", raw.get(name))


def _clocks(path: Path, place: str, raw: Object) -> Clocks:
    agent, tests = (
        between(_at(path, place, raw, f"{p}_started_at"), _at(path, place, raw, f"{p}_ended_at"))
        for p in ("agent", "test")
    )
    started = _at(path, place, raw, "trial_started_at")
    return Clocks(
        received_at=started,
        prepare_s=None,
        start_s=between(started, _at(path, place, raw, "agent_started_at")),
        setup_s=None,
        agent_s=agent,
        verifier_s=tests,
        stop_s=None,
        ended_at=_at(path, place, raw, "trial_ended_at"),
    )
