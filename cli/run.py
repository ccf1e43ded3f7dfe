"""`run` and `demo`: an experiment on this machine, from its file to its report."""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console
from sqlalchemy import Engine

from ..models.arms import split_arms
from ..models.experiment import Experiment
from ..models.ledger import reading
from ..models.ledger.api_calls import spent
from ..models.ledger.enrol import enrol
from ..models.ledger.reading import cell_counts, progress
from ..models.ledger.replays import ask_replay, replays_open
from ..models.ledger.store import open_store
from ..scheduler.broker import broker
from ..scheduler.dispatch import dispatch
from ..scheduler.own_worker import own_worker
from ..scheduler.passes import Gateway
from ..scheduler.plan import plan
from ..scheduler.rounds import Judge
from ..workers.harness.choose import choose
from .asked_experiment import asked_experiment, bundled_experiment
from .folder import LEDGER, locked, run_folder
from .in_a_cluster import knock, tidy
from .misfits import show_misfits
from .own_gateway import in_pods, key_variables, own_gateway
from .preflight import misfit_of, run_checks
from .progress import RunProgress
from .settle import Settled, settle
from .stopping import ALL_INFRA, INTERRUPTED, OUT_OF_MONEY, stop_on_signals

NODE = "local"
WORKER_DIED = 1
IN_A_CLUSTER = 16  # trials in flight in a cluster, whose cores are not this machine's


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asked of a run.

    Args:
        replay_kills: the ceiling at which killed trials run again.
        until, looks: when the run has seen enough; see `until`.
        arms: run one band, `arms_of` or the reference, as two identical arms.
    """

    out: Path | None = None
    slots: int | None = None
    runtime: str | None = None
    leave_out: bool = False
    preflight: bool = False
    fresh: bool = False
    as_json: bool = False
    replay_kills: str | None = None
    until: str | None = None
    looks: int | None = None
    arms: bool = False
    arms_of: str | None = None


def demo(asked: Asked) -> int:
    """Run the bundled experiment; on ordinary processes unless another runtime is asked for."""
    return _run(bundled_experiment("bundled:headroom", asked.runtime), Path.cwd(), asked)


def run_file(file: Path, asked: Asked) -> int:
    """Run an experiment file; returns the exit code."""
    experiment, root = asked_experiment(file, asked.runtime)
    if asked.arms or asked.arms_of:
        experiment = split_arms(experiment, asked.arms_of)
    return _run(experiment, root, asked)


def _run(experiment: Experiment, root: Path, asked: Asked) -> int:
    console = Console(stderr=asked.as_json)
    declare = _judge_of(asked)
    settled = settle(experiment, root, runtime=asked.runtime, environ=os.environ)
    if settled.experiment.pods.runtime == "kubernetes":
        knock()
    folder = run_folder(asked.out, experiment.name, fresh=asked.fresh)
    with locked(folder):
        engine = open_store(folder / LEDGER)
        settled = _as_begun(engine, settled)
        slots = asked.slots or _slots(settled.experiment)
        if asked.preflight and experiment.name not in reading.experiments(engine):
            settled = _preflighted(settled, slots, console)
        show_misfits(console, settled, leave_out=asked.leave_out)
        for entry in settled.experiment.entries:
            choose(entry)  # what cannot be made here would end every one of its trials
        made = plan(settled.experiment, settled.tasks)
        reasons = [f"{m.task}: {m.why}" for m in settled.misfits if m.blocks]
        enrol(engine, settled.experiment, settled.tasks, made.waves, left_out=reasons)
        if asked.replay_kills is not None:
            ask_replay(engine, made.experiment, asked.replay_kills)
        judge = declare(engine, made.experiment) if declare else None
        code = _work(console, engine, made.experiment, folder, slots, judge)
        if code == INTERRUPTED:
            return code
        if code == 0 and made.experiment.pods.runtime == "kubernetes":
            tidy(made.experiment.name, console)
        return _finish(console, engine, made.experiment, folder, code, as_json=asked.as_json)


def _judge_of(asked: Asked) -> Callable[[Engine, Experiment], Judge] | None:
    """What declares the judge of a run that may stop early. Only such a run needs statistics."""
    if asked.until is None and asked.looks is None:
        return None
    from .until import Monitor, stop_rule

    rule = stop_rule(asked.until, asked.looks)
    return partial(Monitor.declared, rule=rule)


def _as_begun(engine: Engine, settled: Settled) -> Settled:
    """A run that goes on has the tasks with which it began, whatever was left out then."""
    name = settled.experiment.name
    if name not in reading.experiments(engine):
        return settled
    begun = {task.name for task in reading.tasks(engine, name)}
    return replace(settled, tasks=tuple(t for t in settled.tasks if t.name in begun), misfits=())


def _preflighted(settled: Settled, slots: int, console: Console) -> Settled:
    """Try every task with the no-op and the oracle first; what is not fit becomes a misfit."""
    unfit = {c.task: c for c in run_checks(settled, slots, console) if c.status != "ok"}
    return replace(
        settled,
        tasks=tuple(task for task in settled.tasks if task.name not in unfit),
        misfits=(*settled.misfits, *(misfit_of(check) for check in unfit.values())),
    )


def _slots(experiment: Experiment) -> int:
    own = IN_A_CLUSTER if experiment.pods.runtime == "kubernetes" else os.cpu_count() or 1
    return max(experiment.factors.concurrency, default=own)


def _work(
    console: Console,
    engine: Engine,
    experiment: Experiment,
    folder: Path,
    slots: int,
    judge: Judge | None,
) -> int:
    name = experiment.name
    done, total = progress(engine, name)
    if done == total and not replays_open(engine, name):
        return 0
    if done:
        console.print(f"going on: {done} of {total} trials have an outcome already")
    bands = [band.name for band in experiment.bands]
    with (
        stop_on_signals() as stop,
        RunProgress(console, done, total, bands, experiment.run.budget_usd) as shown,
        broker(os.environ.get("INFRANOISE_BROKER_URL")) as address,
        own_gateway(experiment, address, engine, folder / "gateway.log") as gateway,
        own_worker(
            *(address, NODE, slots, folder, _for_worker(experiment, gateway)),
            without=key_variables(experiment),
        ) as worker,
    ):
        shown.spent_usd = spent(engine, name).cost_usd
        ended = dispatch(engine, name, address, worker.alive, stop, shown.happened, judge, gateway)
    if ended == "finished":
        return 0
    if ended == "out of money":
        console.print(
            f"the budget of {experiment.run.budget_usd:.2f} USD is spent, as far as another trial "
            f"could take it ({spent(engine, name).cost_usd:.2f} USD until now); nothing is lost: "
            "raise run.budget_usd and run the same command again"
        )
        return OUT_OF_MONEY
    if stop.is_set():
        console.print("interrupted; run the same command again to go on", highlight=False)
        console.print(f"what there is so far: infranoise report {folder}", soft_wrap=True)
        return INTERRUPTED
    console.print(f"the worker died; its last words:\n{worker.last_words()}", style="red")
    return WORKER_DIED


def _for_worker(experiment: Experiment, gateway: Gateway | None) -> Mapping[str, str]:
    network = experiment.pods.build_network
    # Nobody can watch our own queue server, so nobody is told: it halves the worker's own cost.
    watched = "1" if os.environ.get("INFRANOISE_BROKER_URL") else "0"
    told = {"INFRANOISE_EVENTS": os.environ.get("INFRANOISE_EVENTS", watched)}
    if experiment.pods.runtime == "kubernetes":
        told["INFRANOISE_RUNTIMES"] = "kubernetes"
    told |= {"INFRANOISE_GATEWAY_IN_PODS": in_pods(gateway, experiment)}
    return told | ({"INFRANOISE_BUILD_NETWORK": network} if network else {})


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
        for reason, count in _reasons(engine, experiment.name):
            console.print(f"  {count} x {reason}", style="red", markup=False, highlight=False)
        return ALL_INFRA
    return code


def _reasons(engine: Engine, name: str) -> list[tuple[str, int]]:
    """The commonest reasons of infra errors, in words."""
    told = Counter(
        f"{line.cause}: {line.detail or line.rule}"
        for line in reading.attempts(engine, name)
        if line.verdict == "infra_error"
    )
    return told.most_common(3)
