"""`run` and `demo`: an experiment on this machine, from its file to its report."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from types import FrameType

from rich.console import Console
from sqlalchemy import Engine

from ..models.errors import DesignError
from ..models.experiment import Experiment
from ..models.experiment_file import load_experiment, parse_experiment
from ..models.ledger.enrol import enrol
from ..models.ledger.reading import cell_counts, progress
from ..models.ledger.store import open_store
from ..scheduler.broker import broker
from ..scheduler.dispatch import dispatch
from ..scheduler.own_worker import own_worker
from ..scheduler.plan import Plan, plan
from .folder import LEDGER, locked, run_folder
from .progress import RunProgress
from .settle import Settled, settle

NODE = "local"
ALL_INFRA, INTERRUPTED, WORKER_DIED = 3, 130, 1


def demo(
    *, out: Path | None, slots: int | None, runtime: str | None, fresh: bool, as_json: bool
) -> int:
    """Run the bundled experiment; on ordinary processes unless another runtime is asked for."""
    text = (files("infranoise.bundled") / "demo.toml").read_text(encoding="utf-8")
    experiment = parse_experiment(text, where="the bundled demo.toml", default_name="headroom")
    return _run(
        experiment,
        Path.cwd(),
        out=out,
        slots=slots,
        runtime=runtime,
        leave_out=False,
        fresh=fresh,
        as_json=as_json,
    )


def run_file(
    file: Path,
    *,
    out: Path | None,
    slots: int | None,
    runtime: str | None,
    leave_out: bool,
    fresh: bool,
    as_json: bool,
) -> int:
    """Run an experiment file; returns the exit code."""
    return _run(
        load_experiment(file),
        file.parent,
        out=out,
        slots=slots,
        runtime=runtime,
        leave_out=leave_out,
        fresh=fresh,
        as_json=as_json,
    )


def _run(
    experiment: Experiment,
    root: Path,
    *,
    out: Path | None,
    slots: int | None,
    runtime: str | None,
    leave_out: bool,
    fresh: bool,
    as_json: bool,
) -> int:
    console = Console(stderr=as_json)
    cpus = os.cpu_count() or 1
    settled = settle(experiment, root, runtime=runtime, environ=os.environ)
    show_misfits(console, settled, leave_out=leave_out)
    made = plan(settled.experiment, settled.tasks)
    folder = run_folder(out, experiment.name, fresh=fresh)
    with locked(folder):
        engine = open_store(folder / LEDGER)
        reasons = [f"{m.task}: {m.why}" for m in settled.misfits if m.blocks]
        enrol(engine, settled.experiment, settled.tasks, made.waves, left_out=reasons)
        code = _work(console, engine, made, folder, slots or _slots(made, cpus))
        return _finish(console, engine, made.experiment, folder, code, as_json=as_json)


def show_misfits(console: Console, settled: Settled, *, leave_out: bool) -> None:
    """Print what does not fit.

    Raises:
        DesignError: a task cannot run and nobody said to leave it out.
    """
    for misfit in settled.misfits:
        if not misfit.blocks:
            console.print(f"note: {misfit.task}: {misfit.why}", style="yellow", markup=False)
    blocked = [misfit for misfit in settled.misfits if misfit.blocks]
    for misfit in blocked:
        text = f"{misfit.kind} defect: {misfit.task}: {misfit.why}"
        console.print(text, style="red", markup=False, highlight=False)
    if blocked and not leave_out:
        raise DesignError(
            f"{len({m.task for m in blocked})} task(s) cannot run here (above); mend them, list "
            "them in exclude = [...], or leave them out with --leave-out"
        )


def _slots(made: Plan, cpus: int) -> int:
    asked = [wave.concurrency for wave in made.waves if wave.concurrency]
    return max(asked, default=cpus)


def _work(console: Console, engine: Engine, made: Plan, folder: Path, slots: int) -> int:
    name = made.experiment.name
    done, total = progress(engine, name)
    if done == total:
        return 0
    if done:
        console.print(f"going on: {done} of {total} trials have an outcome already")
    bands = [band.name for band in made.experiment.bands]
    with (
        stop_on_signals() as stop,
        RunProgress(console, done, total, bands) as shown,
        broker(os.environ.get("INFRANOISE_BROKER_URL")) as address,
        own_worker(address, NODE, slots, folder, _for_worker(made.experiment)) as worker,
    ):
        finished = dispatch(engine, name, address, worker.alive, stop, shown.happened)
    if finished:
        return 0
    if stop.is_set():
        console.print("interrupted; run the same command again to go on")
        return INTERRUPTED
    console.print(f"the worker died; its last words:\n{worker.last_words()}", style="red")
    return WORKER_DIED


def _for_worker(experiment: Experiment) -> Mapping[str, str]:
    network = experiment.pods.build_network
    return {"INFRANOISE_BUILD_NETWORK": network} if network else {}


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; a second SIGINT ends the process at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _finish(
    console: Console,
    engine: Engine,
    experiment: Experiment,
    folder: Path,
    code: int,
    *,
    as_json: bool,
) -> int:
    from .report import write_report

    counts = cell_counts(engine, experiment.name)
    if not any(cell.n for cell in counts):
        return code or WORKER_DIED
    write_report(engine, experiment.name, folder, console, as_json=as_json)
    if code == 0 and all(cell.n == cell.infra_errors for cell in counts):
        console.print("every trial ended in an infra error: this run says nothing about scores")
        return ALL_INFRA
    return code
