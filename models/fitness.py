"""What can be known of a task before anything is spent: whether it can run, and run as declared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from .allow import AllowList
from .errors import DesignError
from .experiment import Experiment
from .spec import MIB
from .task import Task
from .value import Value

PROCESSORS = {"x86_64": ("x86_64", "amd64"), "aarch64": ("aarch64", "arm64")}
IMAGE_PREFIX = "INFRANOISE_IMAGE_PREFIX"
Kind = Literal["task", "infrastructure", "notice"]


class Machine(Value):
    """What a task is held against: cores, and bytes that floors may take (None: not known).

    `architecture` is as the kernel names it; "": not known. `no_outlets` is why its pods cannot
    have ways out that are watched over; "": they can, or it is not known.
    """

    cpus: int
    memory_bytes: int | None = None
    architecture: str = ""
    name: str = "this machine"
    no_outlets: str = ""


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
    tasks: Sequence[Task],
    experiment: Experiment,
    *,
    environ: Mapping[str, str] | None,
    machine: Machine,
) -> list[Misfit]:
    """Every misfit of these tasks with an experiment, on such a machine.

    Args:
        environ: what fills in the variables of tasks' env tables; None: the nodes' own, not known.
    """
    return [
        Misfit(task=task.name, kind=kind, why=why)
        for task in tasks
        for kind, why in _of(task, experiment, environ, machine)
    ] + [Misfit(task="every task", kind="notice", why=why) for why in _of_all(experiment)]


def _of_all(experiment: Experiment) -> Iterator[str]:
    """What does not fit whatever the task."""
    strict = {
        band.name
        for band in experiment.bands
        if band.memory.floor == band.memory.ceiling and band.cpu.floor == band.cpu.ceiling
    }
    natural = (
        experiment.pods.runtime == "kubernetes" and experiment.pods.kubernetes.qos == "natural"
    )
    if natural and 0 < len(strict) < len(experiment.bands):
        yield (
            f'with qos = "natural" pods of {", ".join(sorted(strict))} are Guaranteed and others '
            "Burstable: they differ in their CPUs and in whom a pressed node evicts first, beside "
            'the ceiling; qos = "constant" moves the ceiling alone'
        )


def _of(
    task: Task, experiment: Experiment, environ: Mapping[str, str] | None, machine: Machine
) -> Iterator[tuple[Kind, str]]:
    yield from _not_built_for(task)
    yield from _not_for_a_cluster(task, experiment)
    yield from _not_to_be_pulled(task, experiment, environ)
    yield from _not_to_be_capped(task, experiment)
    yield from _not_to_be_watched(task, experiment, machine)
    yield from _too_large(task, experiment, machine)
    yield from _made_for_another_processor(task, machine)
    missing = [name for name in task.unresolved if environ is None or name not in environ]
    if missing and environ is None:
        yield (
            "notice",
            f"its env tables need {', '.join(missing)}: set it where the workers start",
        )
    elif missing:
        yield (
            "infrastructure",
            f"its env tables need {', '.join(missing)}, which the environment does not set; "
            "export it",
        )
    if task.spec.cpus is not None and task.spec.cpus > machine.cpus:
        yield (
            "notice",
            f"declares {task.spec.cpus:g} cpus, {machine.name} has {machine.cpus}: slower than its "
            "author meant, whatever the band",
        )
    for warning in task.warnings:
        yield "notice", warning


def _not_to_be_capped(task: Task, experiment: Experiment) -> Iterator[tuple[Kind, str]]:
    if experiment.factors.egress_mbps and task.network_mode == "no-network":
        yield "notice", "has no network: the levels of egress_mbps are alike for it"


def _not_to_be_watched(
    task: Task, experiment: Experiment, machine: Machine
) -> Iterator[tuple[Kind, str]]:
    """A task with an allow-list of its own gets that and no more, or does not run."""
    if task.network_mode != "allowlist" or experiment.pods.runtime == "kubernetes":
        return
    if experiment.pods.network not in ("public", "gateway"):
        network = experiment.pods.network
        yield "notice", f'has no use of its allowed_hosts under network = "{network}"'
        return
    try:
        AllowList.of((*task.allowed_hosts, *experiment.pods.allow))
    except ValueError as error:
        yield "infrastructure", f"its allowed_hosts cannot be watched over: {error}"
    if machine.no_outlets:
        yield "infrastructure", f"wants an allow-list: {machine.no_outlets}"


def _made_for_another_processor(task: Task, machine: Machine) -> Iterator[tuple[Kind, str]]:
    """Converted benchmarks name images that say in their names for which processor they are."""
    file = task.environment / "Dockerfile"
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    images = [task.image or "", *(line for line in lines if line.upper().startswith("FROM "))]
    for wanted, names in PROCESSORS.items():
        if machine.architecture in ("", wanted):
            continue
        if any(name in image for image in images for name in names):
            yield (
                "infrastructure",
                f"its image is for {wanted}, {machine.name} is {machine.architecture}: emulated it "
                "would run, many times slower; run it on another machine",
            )


def _not_for_a_cluster(task: Task, experiment: Experiment) -> Iterator[tuple[Kind, str]]:
    if experiment.pods.runtime == "kubernetes" and task.network_mode != "public":
        yield (
            "infrastructure",
            f"wants network {task.network_mode!r}, which a cluster cannot promise: many network "
            "plugins accept a NetworkPolicy and do nothing; run it with --runtime docker",
        )


def _not_to_be_pulled(
    task: Task, experiment: Experiment, environ: Mapping[str, str] | None
) -> Iterator[tuple[Kind, str]]:
    built = experiment.pods.images == "build" and task.has_dockerfile
    named = task.image is not None and not built
    if experiment.pods.runtime != "kubernetes" or named:
        return
    if environ is None:
        yield "notice", f"names no image: workers of a cluster need {IMAGE_PREFIX}, and it there"
    elif not environ.get(IMAGE_PREFIX):
        yield (
            "infrastructure",
            "names no image, and a cluster builds none: give it environment.docker_image, or push "
            f"an image per environment hash and set {IMAGE_PREFIX}",
        )


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


def _too_large(task: Task, experiment: Experiment, machine: Machine) -> Iterator[tuple[Kind, str]]:
    """Bands that cannot be made of the task's spec, and floors that this machine cannot hold."""
    spec = task.spec.or_default(experiment.pods.default_spec)
    try:
        floors = [band.limits(spec).memory_floor_bytes or 0 for band in experiment.bands]
    except (DesignError, ValueError) as error:
        yield "task", str(error)
        return
    if spec.memory_mib is None:
        yield (
            "notice",
            "declares no memory, so no band with a memory ceiling can be made of it; give [pods] "
            "default_spec",
        )
    if machine.memory_bytes and max(floors) > machine.memory_bytes:
        yield (
            "infrastructure",
            f"its memory floor of {max(floors) / MIB:.0f} MiB is more than the "
            f"{machine.memory_bytes / MIB:.0f} MiB that this machine has for pods; lower the "
            "floor in [[bands]], or use a larger machine",
        )
