"""What can be known of a task before anything is spent: whether it can run, and run as declared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from .band import Band
from .errors import DesignError
from .experiment import Experiment
from .task import Task
from .value import Value

Kind = Literal["task", "infrastructure", "notice"]


class Misfit(Value):
    """Something about a task that does not fit. `kind` says whose defect it is.

    A notice leaves the task runnable; the other kinds keep it from running.
    """

    task: str
    kind: Kind
    why: str

    @property
    def blocks(self) -> bool:
        """Whether the task cannot run."""
        return self.kind != "notice"


def misfits(
    tasks: Sequence[Task], experiment: Experiment, *, environ: Mapping[str, str], cpus: int
) -> list[Misfit]:
    """Every misfit of these tasks with an experiment, on a machine with so many cpus."""
    return [
        Misfit(task=task.name, kind=kind, why=why)
        for task in tasks
        for kind, why in _of(task, experiment, environ, cpus)
    ]


def _of(
    task: Task, experiment: Experiment, environ: Mapping[str, str], cpus: int
) -> Iterator[tuple[Kind, str]]:
    yield from _not_built_for(task)
    yield from _undeclared(task, experiment.bands, experiment)
    missing = [name for name in task.unresolved if name not in environ]
    if missing:
        yield (
            "infrastructure",
            f"its env tables need {', '.join(missing)}, which the environment does not set; "
            "export it",
        )
    if task.spec.cpus is not None and task.spec.cpus > cpus:
        yield (
            "notice",
            f"declares {task.spec.cpus:g} cpus, this machine has {cpus}: slower than its author "
            "meant, whatever the band",
        )
    for warning in task.warnings:
        yield "notice", warning


def _not_built_for(task: Task) -> Iterator[tuple[Kind, str]]:
    if task.multi_container:
        yield (
            "infrastructure",
            "needs several containers (environment/docker-compose.yaml); no runtime here makes "
            "more than one pod for a trial",
        )
    if task.steps:
        yield "infrastructure", f"has {len(task.steps)} steps; only one-step tasks run"
    if task.separate_verifier:
        yield "infrastructure", "wants its verifier in a pod of its own; only a shared one runs"
    if task.os != "linux":
        yield "infrastructure", f"wants {task.os}; pods run Linux"
    if task.gpus:
        yield "infrastructure", f"wants {task.gpus} GPUs; pods here have none"
    if not task.tests.is_dir():
        yield "task", "has no tests/ folder, so nothing can judge it"


def _undeclared(
    task: Task, bands: Sequence[Band], experiment: Experiment
) -> Iterator[tuple[Kind, str]]:
    spec = task.spec.or_default(experiment.pods.default_spec)
    try:
        for band in bands:
            band.limits(spec)
    except (DesignError, ValueError) as error:
        yield "task", str(error)
