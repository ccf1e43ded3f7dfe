"""The head of an Inspect log: whose it is, and what was set for the whole of it. Pure.

Source: Inspect 0.3.285, `inspect_ai.log.EvalSpec` and `EvalConfig`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..models.band import Band
from ..models.conditions import UNRECORDED
from ..models.entry import Entry
from ..models.task import Task
from .fields import count, items, number, part, word
from .json_bounded import Object
from .labels import band_label, label, short
from .reading import Choices
from .settings import settings
from .untold import named_task


@dataclass(frozen=True, slots=True)
class Eval:
    """What a log tells of all its samples. `scorer` is the one that counts; `planned` samples."""

    task: str
    id: str
    run: str
    entry: Entry
    band: Band
    runtime: str
    harness: str
    scorer: str
    ended: bool
    concurrency: int | None
    time_limit_s: float | None
    task_version: str
    planned: int | None
    stated: Mapping[str, Any]


def eval_of(path: Path, head: Object, choices: Choices) -> Eval:
    """The head of a log.

    Raises:
        SourceFault: a field holds what it cannot hold.
    """
    spec = part(path, "eval", head.get("eval"))
    config = part(path, "eval.config", spec.get("config"))
    results = part(path, "results", head.get("results"))
    packages = part(path, "eval.packages", spec.get("packages"))
    version, runtime = word(packages.get("inspect_ai")), _sandbox(spec.get("sandbox"))
    id_ = word(spec.get("eval_id")) or word(spec.get("run_id"))
    return Eval(
        task=label(path, "eval.task", spec.get("task")),
        id=id_,
        run=short(f"{word(spec.get('created'))} {id_[:8]}".strip()),
        entry=_entry(path, spec, head, choices.entry),
        band=choices.band or Band(name=band_label(runtime), stated=False),
        runtime=runtime,
        harness=f"Inspect {version}" if version else "Inspect, version not recorded",
        scorer=choices.reward or _scorer(path, spec, results),
        ended=head.get("status") == "success",
        concurrency=count(config.get("max_sandboxes")) or count(config.get("max_samples")),
        time_limit_s=number(config.get("time_limit")) or number(config.get("working_limit")),
        task_version=str(spec.get("task_version", "")),
        planned=_planned(path, spec, config),
        stated=results,
    )


def task_of(head: Eval, sample: str) -> Task:
    """A sample as a task of ours: an Inspect task is a whole benchmark."""
    return named_task(f"{head.task}/{sample}")


def _planned(path: Path, spec: Object, config: Object) -> int | None:
    """Samples times epochs; None where an old log does not list them."""
    dataset = part(path, "eval.dataset", spec.get("dataset"))
    ids = items(path, "eval.dataset.sample_ids", dataset.get("sample_ids"))
    return len(ids) * (count(config.get("epochs")) or 1) if ids else None


def _sandbox(raw: object) -> str:
    kind = raw.get("type") if isinstance(raw, dict) else raw
    return short(word(kind) or UNRECORDED)


def _scorer(path: Path, spec: Object, results: Object) -> str:
    """The headline's scorer, else the first one."""
    headline = part(path, "results.headline", results.get("headline"))
    if name := word(headline.get("score")) or word(headline.get("scorer")):
        return name
    for place, listed in (("results.scores", results.get("scores")),
                          ("eval.scorers", spec.get("scorers"))):  # fmt: skip
        for one in items(path, place, listed):
            return word(part(path, place, one).get("name"))
    return ""


def _entry(path: Path, spec: Object, head: Object, chosen: str | None) -> Entry:
    """Solver x model; solvers and models that differ in a setting are different entries."""
    model = label(path, "eval.model", spec.get("model"))
    plan = part(path, "plan", head.get("plan"))
    steps = [
        word(part(path, "plan.steps", step).get("solver"))
        for step in items(path, "plan.steps", plan.get("steps"))
    ]
    solver = word(spec.get("solver"))
    options = _settings(path, spec)
    told = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
    name = chosen or "/".join(filter(None, (solver, model))) + (f" ({told})" if told else "")
    agent = solver or " > ".join(filter(None, steps)) or UNRECORDED
    return Entry(
        agent=f"inspect:{short(agent, 120)}",
        model=model,
        name=short(name, 120),
        options=options,
    )


def _settings(path: Path, spec: Object) -> dict[str, str | int | float | bool]:
    found: dict[str, str | int | float | bool] = {}
    for place in ("model_generate_config", "model_args", "solver_args_passed"):
        found |= settings(path, f"eval.{place}", spec.get(place))
    return found
