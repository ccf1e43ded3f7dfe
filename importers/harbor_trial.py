"""One Harbor trial (`result.json`) as a foreign trial. Pure.

Source: Harbor 0.24 and 0.25, `harbor.models.trial.result`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..models.foreign import (
    Facts,
    ForeignAttempt,
    ForeignTrial,
    told_clocks,
    told_origin,
    told_usage,
)
from ..models.stamp import Stamp
from .ending import Ending, checked_reward, evidence_of, one_reward
from .fields import count, items, number, part, word
from .harbor_log import Erased
from .harbor_setup import band_of, conditions_of, enforcement_of, entry_of
from .json_bounded import Object
from .labels import label
from .moments import between, moment
from .overlap import Neighbours, Span
from .reading import Choices
from .untold import NO_CLOCKS, NO_USAGE, named_task

EARLY = "AgentTimeoutError:early"
"""The mode of an agent timeout that was stored before the agent's time was up."""
LIMIT = re.compile(r"timed out after ([\d.]+) seconds")
NEARLY = 0.95  # of its limit: an agent that ran so long did run into it


@dataclass(frozen=True, slots=True)
class Job:
    """What a Harbor job tells of all its trials; `retried`: erased attempts by trial."""

    name: str
    id: str
    harness: str
    n_concurrent: int | None
    retried: Mapping[str, Sequence[Erased]]


class Told(NamedTuple):
    """A trial's result, where it was read, and the stamp that lay beside it."""

    path: Path
    raw: Object
    stamp: Stamp | None = None

    @property
    def name(self) -> str:
        """The trial's name in its job."""
        return word(self.raw.get("trial_name"))

    @property
    def config(self) -> Object:
        """The configuration that the trial ran with."""
        return part(self.path, "config", self.raw.get("config"))

    @property
    def span(self) -> Span:
        """Start and end of the trial, in seconds."""
        start, end = self.at("started_at"), self.at("finished_at")
        return None if start is None or end is None else (start, end)

    def at(self, name: str) -> float | None:
        """One of the trial's own moments."""
        return moment(self.path, name, self.raw.get(name))


def harbor_trial(told: Told, job: Job, around: Neighbours, choices: Choices) -> ForeignTrial:
    """A trial with its erased attempts, if any, and its own.

    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    path, raw = told.path, told.raw
    task = label(path, "task_name", raw.get("task_name"))
    id_ = word(raw.get("id")) or f"{job.id}/{told.name}"
    task_hash = word(raw.get("task_checksum"))
    origin = told_origin(
        kind="harbor",
        id=id_,
        run=job.name,
        harness=job.harness,
        agent_version=word(part(path, "agent_info", raw.get("agent_info")).get("version")),
        task_hash=task_hash,
    )
    erased = [_erased(one, told, job, origin, choices) for one in job.retried.get(told.name, ())]
    return ForeignTrial(
        identity=f"harbor/{id_}",
        task=named_task(task, task_hash),
        entry=entry_of(path, raw, told.config, choices.entry),
        band=choices.band or band_of(path, told.config),
        levels=(("concurrency", str(job.n_concurrent)),) if job.n_concurrent is not None else (),
        run=job.name,
        attempts=(*erased, _attempt(told, job, origin, around, choices)),
    )


def _attempt(
    told: Told, job: Job, origin: Facts, around: Neighbours, choices: Choices
) -> ForeignAttempt:
    path, clocks = told.path, _clocks(told)
    mode, message = _exception(path, told.raw)
    limit_s = _limit(path, told.config, message)
    if mode == "AgentTimeoutError" and _too_early(clocks["agent_s"], limit_s):
        mode = EARLY
        message = (
            f"stored as an agent timeout of {limit_s:g} s, but the agent had run "
            f"{clocks['agent_s']:.1f} s: a timeout of the infrastructure"
        )
    judged = choices.modes.word(mode, message)
    named = _rewards(told, choices)
    ending = Ending(
        word=judged,
        mode=mode,
        message=message,
        reward=one_reward(named, choices.reward),
        rewards=named,
        walls=_walls(told, clocks, graded=bool(named)),
        enforcement=enforcement_of(path, told.config),
        settled=choices.modes.settles(mode, message),
    )
    return ForeignAttempt(
        evidence=evidence_of(ending),
        conditions=conditions_of(
            path,
            told.config,
            started=clocks["received_at"],
            limit_s=limit_s,
            slots=job.n_concurrent,
            around=around,
            stamp=told.stamp,
        ),
        usage=_usage(told),
        clocks=clocks,
        origin={**origin, "mode": mode, "judged": judged},
    )


def _erased(one: Erased, told: Told, job: Job, origin: Facts, choices: Choices) -> ForeignAttempt:
    """An attempt that a retry deleted: the job's log kept nothing but its exception."""
    judged = choices.modes.word(one.mode, one.message)
    message = f"{one.message or 'no message kept'} (retried, and its records deleted)"
    ending = Ending(word=judged, mode=one.mode, message=message)
    return ForeignAttempt(
        evidence=evidence_of(ending),
        conditions=conditions_of(told.path, told.config, slots=job.n_concurrent),
        usage=NO_USAGE,
        clocks=NO_CLOCKS,
        origin={**origin, "mode": one.mode, "judged": judged},
    )


def _clocks(told: Told) -> Facts:
    return told_clocks(
        received_at=told.at("started_at"),
        prepare_s=None,
        start_s=_wall(told, "environment_setup"),
        setup_s=_wall(told, "agent_setup"),
        agent_s=_wall(told, "agent_execution"),
        api_wait_s=_api(told)[1],
        verifier_s=_wall(told, "verifier"),
        stop_s=None,
        ended_at=told.at("finished_at"),
    )


def _phases(told: Told, name: str) -> list[Object]:
    """A phase's clock, or those of its steps."""
    steps = (
        part(told.path, "step_results", step)
        for step in items(told.path, "step_results", told.raw.get("step_results"))
    )
    found = [told.raw.get(name)] if told.raw.get(name) else [step.get(name) for step in steps]
    return [part(told.path, name, one) for one in found if one is not None]


def _wall(told: Told, name: str) -> float | None:
    """Seconds of a phase, of all its steps together; None where one of them is not told."""
    walls = [
        between(
            moment(told.path, f"{name}.started_at", clock.get("started_at")),
            moment(told.path, f"{name}.finished_at", clock.get("finished_at")),
        )
        for clock in _phases(told, name)
    ]
    known = [wall for wall in walls if wall is not None]
    return sum(known) if known and len(known) == len(walls) else None


def _walls(told: Told, clocks: Facts, *, graded: bool) -> dict[Any, float | None]:
    """The phases that were reached."""
    walls: dict[Any, float | None] = {}
    if _phases(told, "agent_execution"):
        walls["agent"] = clocks["agent_s"]
    if graded or _phases(told, "verifier"):
        walls["verifier"] = clocks["verifier_s"]
    return walls


def _exception(path: Path, raw: Object) -> tuple[str, str]:
    """Type and message of the trial's exception, else of the first step that has one."""
    steps = [s for s in items(path, "step_results", raw.get("step_results")) if isinstance(s, dict)]
    found = [holder.get("exception_info") for holder in (raw, *steps)]
    info = part(path, "exception_info", next((one for one in found if one), None))
    if not info:
        return "", ""
    return word(info.get("exception_type")) or "unknown", word(info.get("exception_message"))


def _limit(path: Path, config: Object, message: str) -> float | None:
    """The agent's time limit in seconds, as far as the trial tells."""
    if match := LIMIT.search(message):
        return float(match[1])
    return number(part(path, "config.agent", config.get("agent")).get("override_timeout_sec"))


def _too_early(agent_s: float | None, limit_s: float | None) -> bool:
    return agent_s is not None and limit_s is not None and agent_s < NEARLY * limit_s


def _rewards(told: Told, choices: Choices) -> dict[str, float]:
    """The rewards that count: the chosen one, else `reward`, else all of them."""
    result = part(told.path, "verifier_result", told.raw.get("verifier_result"))
    found = part(told.path, "verifier_result.rewards", result.get("rewards"))
    one = choices.reward or ("reward" if "reward" in found else None)
    return {
        name: checked_reward(told.path, f"rewards.{name}", value, choices.most_reward)
        for name, value in found.items()
        if one is None or name == one
    }


def _usage(told: Told) -> Facts:
    result = part(told.path, "agent_result", told.raw.get("agent_result"))
    return told_usage(
        api_calls=_api(told)[0],
        input_tokens=count(result.get("n_input_tokens")),
        output_tokens=count(result.get("n_output_tokens")),
        cost_usd=number(result.get("cost_usd")),
    )


def _api(told: Told) -> tuple[int | None, float | None]:
    """Calls to the model and the seconds waited for them, as terminus-2 records both."""
    result = part(told.path, "agent_result", told.raw.get("agent_result"))
    metadata = result.get("metadata")
    times = metadata.get("api_request_times_msec") if isinstance(metadata, dict) else None
    if not isinstance(times, list):
        return None, None
    told_ms = [ms for ms in map(number, times) if ms is not None and ms >= 0]
    return len(times), sum(told_ms) / 1000
