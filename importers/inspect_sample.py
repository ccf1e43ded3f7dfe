"""One sample of an Inspect log, whole or as its summary, as a foreign trial. Pure.

Source: Inspect 0.3.285, `inspect_ai.log.EvalSample` and `EvalSampleSummary`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..models.foreign import (
    Facts,
    ForeignAttempt,
    ForeignTrial,
    told_clocks,
    told_origin,
    told_usage,
)
from .ending import Ending, evidence_of
from .fields import count, number, part, word
from .inspect_eval import Eval, task_of
from .inspect_score import reward_of
from .json_bounded import Object
from .labels import label, short
from .moments import between, hour_of, moment
from .reading import Choices
from .untold import NO_CLOCKS, NO_CONDITIONS, NO_USAGE

TYPE = r"[A-Za-z_][\w.]*"


def sample_name(path: Path, raw: Object) -> str:
    """A sample's id with its epoch, for people and for faults.

    Raises:
        SourceFault: it has none.
    """
    return f"sample {label(path, 'id', raw.get('id'))}, epoch {raw.get('epoch')}"


def trial_of(
    path: Path, raw: Object, head: Eval, retries: Sequence[str], choices: Choices
) -> ForeignTrial:
    """A sample with the attempts that failed before it, if any, and its own.

    Args:
        raw: an `EvalSample` or an `EvalSampleSummary`.
        retries: messages of the errors after which the sample was tried again.
    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    place = sample_name(path, raw)
    id_ = word(raw.get("uuid")) or f"{head.id}/{raw.get('id')}/{raw.get('epoch')}"
    origin = told_origin(
        kind="inspect", id=id_, run=head.run, harness=head.harness, task_hash=head.task_version
    )
    erased = [_retried(message, head, origin, choices) for message in retries]
    return ForeignTrial(
        identity=f"inspect/{id_}",
        task=task_of(head, label(path, place, raw.get("id"))),
        entry=head.entry,
        band=head.band,
        levels=(("concurrency", str(head.concurrency)),) if head.concurrency else (),
        run=head.run,
        attempts=(*erased, _attempt(path, place, raw, head, origin, choices)),
    )


def _attempt(
    path: Path, place: str, raw: Object, head: Eval, origin: Facts, choices: Choices
) -> ForeignAttempt:
    scores = part(path, f"{place}, scores", raw.get("scores"))
    reward = reward_of(path, place, scores, head.scorer, choices.most_reward)
    mode, message = _mode(path, place, raw, head, scored=reward is not None)
    judged = choices.modes.word(mode, message)
    total_s, working_s = number(raw.get("total_time")), number(raw.get("working_time"))
    walls: dict[Any, float | None] = {"agent": total_s}
    if reward is not None:
        walls["verifier"] = None
    started = moment(path, f"{place}, started_at", raw.get("started_at"))
    ended = moment(path, f"{place}, completed_at", raw.get("completed_at"))
    hour = hour_of(started)
    settled = choices.modes.settles(mode, message)
    return ForeignAttempt(
        evidence=evidence_of(Ending(judged, mode, message, reward, walls=walls, settled=settled)),
        conditions={
            **NO_CONDITIONS,
            "runtime": head.runtime,
            "slots": head.concurrency,
            "hour_utc": hour.hour_utc,
            "weekday": hour.weekday,
            "agent_timeout_s": head.time_limit_s,
        },
        usage=_usage(path, place, raw),
        clocks=told_clocks(
            received_at=started,
            prepare_s=None,
            start_s=None,
            setup_s=None,
            agent_s=total_s if total_s is not None else between(started, ended),
            working_s=working_s,
            verifier_s=None,
            stop_s=None,
            ended_at=ended,
        ),
        origin={**origin, "mode": mode, "judged": judged},
    )


def _mode(path: Path, place: str, raw: Object, head: Eval, *, scored: bool) -> tuple[str, str]:
    """The sample's word for how it ended: an error's type, a limit, or "" where it says nothing."""
    if error := raw.get("error"):
        return mode_of(error.get("message") if isinstance(error, dict) else error)
    limit = raw.get("limit")
    if limit:
        kind = limit.get("type") if isinstance(limit, dict) else limit
        return f"limit:{short(kind, 40)}", word(raw.get("limit_reason"))
    if scored:
        return "", ""
    if not head.ended and not raw.get("completed", raw.get("completed_at")):
        return "cancelled", "its log ends before the sample does"
    return "unscored", f"the scorer {head.scorer!r} left no score"


def mode_of(error: object) -> tuple[str, str]:
    """An error as Inspect writes it, `Type(…)`, as its type and its message.

    >>> mode_of("RuntimeError('no space left')")
    ('RuntimeError', "RuntimeError('no space left')")
    """
    text = word(error)
    name, bracket, _ = text.partition("(")
    named = bool(bracket) and name.replace(".", "").replace("_", "").isalnum() and len(name) <= 80
    return (name if named else "error"), text


def _retried(message: str, head: Eval, origin: Facts, choices: Choices) -> ForeignAttempt:
    """An attempt before the last: the log keeps its error and nothing else that counts."""
    mode, text = mode_of(message) if message else ("error", "its message is not in the log")
    judged = choices.modes.word(mode, text)
    return ForeignAttempt(
        evidence=evidence_of(Ending(judged, mode, text)),
        conditions={**NO_CONDITIONS, "runtime": head.runtime, "slots": head.concurrency},
        usage=NO_USAGE,
        clocks=NO_CLOCKS,
        origin={**origin, "mode": mode, "judged": judged},
    )


def _usage(path: Path, place: str, raw: Object) -> Facts:
    """Tokens of all models together."""
    usage = part(path, f"{place}, model_usage", raw.get("model_usage"))
    models = [part(path, f"{place}, model_usage", one) for one in usage.values()]
    if not models:
        return NO_USAGE
    return told_usage(
        input_tokens=sum(count(one.get("input_tokens")) or 0 for one in models),
        output_tokens=sum(count(one.get("output_tokens")) or 0 for one in models),
    )
