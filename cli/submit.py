"""`submit`: an experiment for the fleet: checked against its nodes, packed, enrolled."""

import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine

from ..models.blobs.bundle import pack
from ..models.blobs.place import Blobs, bundle_name
from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.fitness import Machine, Misfit
from ..models.ledger import reading
from ..models.ledger.enrol import enrol
from ..models.ledger.store import open_store
from ..models.task import Task
from ..scheduler.feasibility import Feasibility, Offer, feasible, within_one_hour
from ..scheduler.plan import Plan, plan
from .asked_experiment import asked_experiment
from .fleet_view import look_at_fleet, offers
from .misfits import show_misfits
from .settle import BUNDLED, Settled, settle
from .watch import Watch, follow

UNKNOWN = Machine(cpus=1 << 16)  # where no node is known, nothing is held against one


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked of a submission."""

    store: str
    broker: str | None
    blobs: str | None
    flower: str | None
    runtime: str | None = None
    leave_out: bool = False
    wait: bool = False
    as_json: bool = False


def submit(file: Path, asked: Asked) -> int:
    """Submit an experiment file; returns the exit code.

    Raises:
        DesignError: it cannot be run as it stands, or there is no place for its tasks.
        LedgerError: the store holds another experiment of that name.
    """
    console = Console(stderr=asked.as_json)
    known = offers(look_at_fleet(asked.broker).nodes) if asked.broker else ()
    experiment, root = asked_experiment(file)
    # A bundled experiment says process pods, as every machine has them; a fleet may have better.
    own = "auto" if str(file).startswith(BUNDLED) and known else experiment.pods.runtime
    runtime = decided(asked.runtime, own, known)
    experiment, root = asked_experiment(file, runtime)
    settled = settle(
        experiment, root, runtime=runtime, environ=os.environ, elsewhere=_largest(known)
    )
    engine = open_store(asked.store)
    try:
        settled, warnings = _held_against(engine, settled, known)
        show_misfits(console, settled, leave_out=asked.leave_out)
        made = plan(settled.experiment, settled.tasks)
        warnings = tuple(filter(None, (*warnings, within_one_hour(made, known))))
        for warning in warnings:
            console.print(f"note: {warning}", style="yellow", markup=False, highlight=False)
        new, place = _enrol(engine, settled, made, asked)
        _tell(engine, settled.experiment, place, asked, warnings, new=new)
    finally:
        engine.dispose()
    if not asked.wait:
        return 0
    seen = Watch(asked.store, asked.broker, asked.flower, experiment.name)
    return follow(seen, as_json=asked.as_json)


def place_for(blobs: str | None, store: str) -> str:
    """Where an experiment's tasks go: what was asked for, else a folder beside a SQLite store.

    Raises:
        DesignError: the store is no file, so that nothing lies beside it.
    """
    if blobs is None:
        if "://" in store:
            raise DesignError(
                "name a place that every node reaches for the packed tasks and logs: --blobs "
                "s3://bucket/infranoise, or a directory that all share (INFRANOISE_BLOBS)"
            )
        blobs = str(Path(store).parent / "blobs")
    return blobs if "://" in blobs else str(Path(blobs).resolve())


def pack_all(tasks: Sequence[Task], place: Blobs) -> int:
    """Put every task's folder at its place, packed, unless it is there; returns how many are new.

    Raises:
        BlobError: a folder changed meanwhile, or the place refuses.
    """
    missing = {t.content_hash: t for t in tasks if not place.has(bundle_name(t.content_hash))}
    with tempfile.TemporaryDirectory(prefix="infranoise-") as folder:
        for content_hash, task in missing.items():
            bundle = Path(folder, "bundle.tar.gz")
            pack(task.directory, content_hash, bundle)
            place.put(bundle_name(content_hash), bundle)
    return len(missing)


def decided(asked: str | None, own: str, known: Sequence[Offer]) -> str:
    """The kind of pods: what was asked for, else the experiment's own; for "auto" what every node
    offers: Docker, a cluster's, else process.

    Raises:
        DesignError: nobody says, and no node is known.
    """
    if (named := asked or own) != "auto":
        return named
    if not known:
        raise DesignError(
            "no node is known that could say which pods it offers: name them, --runtime docker or "
            "process (INFRANOISE_RUNTIME)"
        )
    every = (
        kind
        for kind in ("docker", "kubernetes")
        if all(offer.runtimes is not None and kind in offer.runtimes for offer in known)
    )
    return next(every, "process")


def _largest(known: Sequence[Offer]) -> Machine:
    if not known:
        return UNKNOWN
    most = max(known, key=lambda offer: offer.total.cpu_m)
    return Machine(cpus=most.total.cpu_m // 1000, name=f"the largest node, {most.node},")


def _held_against(
    engine: Engine, settled: Settled, known: Sequence[Offer]
) -> tuple[Settled, tuple[str, ...]]:
    """Hold the tasks against the nodes; those that none can hold become misfits.

    What was submitted before keeps the tasks with which it was, and is only warned of.
    """
    name = settled.experiment.name
    begun = name in reading.experiments(engine)
    if begun:
        had = {task.name for task in reading.tasks(engine, name)}
        tasks = tuple(task for task in settled.tasks if task.name in had)
        settled = replace(settled, tasks=tasks, misfits=())
    found = feasible(settled.experiment, settled.tasks, known)
    if begun:
        refusals = (f"{task}: {why}" for task, why in found.refusals.items())
        return settled, (*found.warnings, *refusals)
    return _refused(settled, found), found.warnings


def _refused(settled: Settled, found: Feasibility) -> Settled:
    unfit = tuple(Misfit(task=t, kind="infrastructure", why=w) for t, w in found.refusals.items())
    tasks = tuple(task for task in settled.tasks if task.name not in found.refusals)
    return replace(settled, tasks=tasks, misfits=settled.misfits + unfit)


def _enrol(engine: Engine, settled: Settled, made: Plan, asked: Asked) -> tuple[bool, str]:
    place = place_for(asked.blobs, asked.store)
    pack_all(settled.tasks, Blobs(place))
    reasons = [f"{m.task}: {m.why}" for m in settled.misfits if m.blocks]
    new = enrol(
        engine, settled.experiment, settled.tasks, made.waves, left_out=reasons, blobs=place
    )
    return new, place


def _tell(
    engine: Engine,
    experiment: Experiment,
    place: str,
    asked: Asked,
    warnings: Sequence[str],
    *,
    new: bool,
) -> None:
    done, planned = reading.progress(engine, experiment.name)
    if asked.as_json:
        told = {"experiment": experiment.name, "new": new, "trials": planned, "done": done}
        print(json.dumps(told | {"blobs": place, "warnings": list(warnings)}))
        return
    what = f"{planned:,} trials" if new else f"known already, {done:,} of {planned:,} trials done"
    print(f"{experiment.name}: {what}; tasks lie in {place}")
    print(f"follow it: infranoise watch {experiment.name}")
