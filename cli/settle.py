"""From an experiment file to what will run here: tasks found, runtime settled, misfits named."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from ..bundled.materialise import materialise
from ..models.cache_folder import cache_folder
from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.fitness import Machine, Misfit, misfits
from ..models.seating import ClusterPods
from ..models.task import Task
from ..models.task_set import TaskSet, find_tasks
from ..workers.capacity import memory_for_pods
from ..workers.meters.procfs import Files
from ..workers.network.shaping import why_no_links
from ..workers.outlet.link import why_no_outlets

BUNDLED = "bundled:"
CLUSTER = Machine(cpus=1 << 16, name="the cluster")  # it says itself what does not fit


@dataclass(frozen=True, slots=True)
class Settled:
    """An experiment with its runtime decided, the tasks that can run, and those that cannot."""

    experiment: Experiment
    tasks: tuple[Task, ...]
    misfits: tuple[Misfit, ...]


def settle(
    experiment: Experiment,
    root: Path,
    *,
    runtime: str | None,
    environ: Mapping[str, str],
    elsewhere: Machine | None = None,
) -> Settled:
    """Find the experiment's tasks below `root` and decide its pod runtime.

    Args:
        environ: what fills in the variables of tasks, and where the cache is.
        elsewhere: the machine that it is to fit, where that is not this one: its environment is
            its own, and not held against the tasks.
    Raises:
        DesignError: a pattern finds nothing, an unknown runtime was asked for, or one that has no
            use for what the experiment asks of a cluster.
    """
    decided = decide_runtime(runtime or experiment.pods.runtime)
    _refuse_what_it_cannot(decided, experiment)
    pods = experiment.pods.model_copy(update={"runtime": decided})
    experiment = experiment.model_copy(update={"pods": pods})
    if elsewhere is None and experiment.needs_links and (why := _no_links(experiment)):
        raise DesignError(f"pods of this experiment need links to this machine: {why}")
    found = find(experiment.tasks, root, environ, fill={} if elsewhere else environ)
    kept = [t for t in found.tasks if not _excluded(t.name, experiment.exclude)]
    unfit = [
        Misfit(task=one.name, kind="task", why=str(one.fault))
        for one in found.malformed
        if not _excluded(one.name, experiment.exclude)
    ]
    unfit += misfits(
        kept,
        experiment,
        environ=None if elsewhere else environ,
        machine=elsewhere or _machine_for(decided, kept),
    )
    out = {misfit.task for misfit in unfit if misfit.blocks}
    return Settled(experiment, tuple(t for t in kept if t.name not in out), tuple(unfit))


def _refuse_what_it_cannot(runtime: str, experiment: Experiment) -> None:
    """Refuse at once what no attempt on such pods could have.

    Raises:
        DesignError
    """
    if runtime != "kubernetes":
        if experiment.pods.kubernetes != ClusterPods():
            raise DesignError(
                f"[pods.kubernetes] says where pods of a cluster go, and {runtime} pods go nowhere "
                "else than this machine: leave the table out, or choose --runtime kubernetes"
            )
        if runtime == "process" and experiment.pods.network == "public":
            _refuse_caps(experiment, "process pods share the machine's own", "internal")
        return
    if experiment.pods.network != "public":
        raise DesignError(
            f'[pods] network = "{experiment.pods.network}": many network plugins accept a '
            "NetworkPolicy and do nothing, and none counts hosts, so a cluster cannot promise it; "
            'use "public" there and wall the nodes off, or choose --runtime docker'
        )
    _refuse_caps(experiment, "whether a cluster's plugin shapes it is not told", "")


def _refuse_caps(experiment: Experiment, why: str, network: str) -> None:
    if experiment.factors.egress_mbps:
        other = f'set [pods] network = "{network}"' if network else "leave it out"
        raise DesignError(
            f"[factors] egress_mbps caps a pod's own link, and {why}: {other}, or choose "
            "--runtime docker"
        )


def _no_links(experiment: Experiment) -> str:
    return why_no_outlets() if experiment.pods.network == "gateway" else why_no_links()


def _machine_for(runtime: str, tasks: Sequence[Task]) -> Machine:
    if runtime == "kubernetes":
        return CLUSTER
    if not any(task.network_mode == "allowlist" for task in tasks):
        return this_machine()
    return this_machine().model_copy(update={"no_outlets": why_no_outlets()})


def this_machine() -> Machine:
    """The machine that this runs on, as tasks are held against it."""
    memory = memory_for_pods(Files(Path("/")))
    return Machine(
        cpus=os.cpu_count() or 1, memory_bytes=memory or None, architecture=platform.machine()
    )


def find(
    patterns: tuple[str, ...],
    root: Path,
    environ: Mapping[str, str],
    *,
    fill: Mapping[str, str] | None = None,
) -> TaskSet:
    """The tasks of patterns; `bundled:<name>` ones are made in the user's cache first.

    Args:
        fill: what fills in the variables of tasks; `environ` unless given.
    """
    paths: list[str] = []
    for pattern in patterns:
        if pattern.startswith(BUNDLED):
            made = materialise(pattern.removeprefix(BUNDLED), cache_folder(environ))
            paths += [str(path) for path in made]
        else:
            paths.append(pattern)
    return find_tasks(paths, root, environ=environ if fill is None else fill)


def decide_runtime(asked: str) -> str:
    """The runtime: what was asked for; for "auto" Docker where an engine answers, else process.

    Raises:
        DesignError: no such runtime.
    """
    if asked in ("process", "docker", "kubernetes"):
        return asked
    if asked != "auto":
        raise DesignError(f"runtime {asked!r}: choose process, docker, kubernetes or auto")
    from ..workers.doctor import docker_answers

    return "docker" if docker_answers() else "process"


def _excluded(task: str, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern fits the task's whole name, or its own without its benchmark's."""
    own = task.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in (task, own))
