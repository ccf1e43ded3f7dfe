"""`preflight`: on this very infrastructure the no-op must score 0 and the oracle 1."""

import json
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ..models.band import Band
from ..models.classify import classify
from ..models.entry import Entry
from ..models.errors import DesignError
from ..models.evidence import Evidence, Fault
from ..models.experiment import Experiment
from ..models.experiment_file import load_experiment
from ..models.fitness import Kind, Misfit
from ..models.task import Task
from ..scheduler.trial_run import single
from ..workers.attempt import Node, run_attempt
from ..workers.bearings import Bearings
from ..workers.leaving import stop_all
from ..workers.pods.pod import Pods
from ..workers.runtimes import Runtimes
from ..workers.settings import worker_settings
from ..workers.slots import Slots
from .settle import Settled, settle
from .stopping import stop_on_signals

BAND = Band.shorthand("uncapped")
NOP, ORACLE = Entry(agent="nop"), Entry(agent="oracle")
DEFECTS = 1
LOOK_EVERY_S = 0.2
LEAVE_WITHIN_S = 15.0
STOPPED = Fault(cause="unknown", message="interrupted")


Status = Literal["ok", "task", "infrastructure"]


@dataclass(frozen=True, slots=True)
class Check:
    """One task's preflight. `status` says whose defect it is, `why` and the outcomes show it."""

    task: str
    status: Status
    why: str = ""
    nop: dict[str, object] | None = None
    oracle: dict[str, object] | None = None


def preflight(
    tasks: Sequence[str], *, runtime: str | None, slots: int | None, static: bool, as_json: bool
) -> int:
    """Check tasks; returns 0 if all are fit, 1 if some are not."""
    console = Console(stderr=as_json)
    experiment, root = _asked(tasks)
    cpus = os.cpu_count() or 1
    settled = settle(experiment, root, runtime=runtime, environ=os.environ)
    checks = [
        Check(m.task, "task" if m.kind == "task" else "infrastructure", m.why)
        for m in settled.misfits
        if m.blocks
    ]
    if static:
        checks += [Check(task.name, "ok", "looked at, not run") for task in settled.tasks]
    else:
        checks += run_checks(settled, slots or cpus, console)
    notices = [{"task": m.task, "why": m.why} for m in settled.misfits if not m.blocks]
    _print(console, checks, notices, as_json=as_json)
    return DEFECTS if any(check.status != "ok" for check in checks) else 0


def run_checks(settled: Settled, slots: int, console: Console) -> list[Check]:
    """Run no-op and oracle of every settled task in uncapped pods, `slots` at a time.

    Raises:
        KeyboardInterrupt: a signal asked to stop; no pod is left.
    """
    pods, node = here(settled.experiment, slots)
    bands = (BAND,)
    trial = settled.experiment.model_copy(update={"bands": bands, "entries": (NOP, ORACLE)})
    with (
        closing(pods),
        stop_on_signals() as stop,
        Progress(console=console, transient=True) as bar,
        ThreadPoolExecutor(slots) as pool,
    ):
        line = bar.add_task("no-op and oracle", total=len(settled.tasks))
        checks = [pool.submit(_check, trial, task, pods, node, stop) for task in settled.tasks]
        waiting = set(checks)
        while waiting:
            done, waiting = wait(waiting, LOOK_EVERY_S, FIRST_COMPLETED)
            bar.advance(line, len(done))
            if stop.is_set():
                pool.shutdown(wait=False, cancel_futures=True)
                stop_all(node.slots, STOPPED, within_s=LEAVE_WITHIN_S)
                raise KeyboardInterrupt
        return [check.result() for check in checks]


def here(experiment: Experiment, slots: int) -> tuple[Pods, Node]:
    """The pods of an experiment's runtime on this machine, and this machine as a node."""
    environ = dict(os.environ)
    if experiment.pods.build_network:
        environ["INFRANOISE_BUILD_NETWORK"] = experiment.pods.build_network
    runtimes = Runtimes(worker_settings(environ))
    return runtimes.named(experiment.pods.runtime), Node("local", Bearings(), Slots(slots), environ)


def _asked(tasks: Sequence[str]) -> tuple[Experiment, Path]:
    """The experiment that is checked: a file's own, or a plain one over the named tasks."""
    if len(tasks) == 1 and tasks[0].endswith(".toml") and Path(tasks[0]).is_file():
        file = Path(tasks[0])
        if file.name != "task.toml":
            return load_experiment(file), file.parent
        tasks = [str(file.parent)]
    if not tasks:
        raise DesignError("name the tasks to check, such as 'my-tasks/*' or bundled:headroom")
    experiment = Experiment(name="preflight", tasks=tuple(tasks), bands=(BAND,))
    return experiment, Path.cwd()


def _check(
    experiment: Experiment, task: Task, pods: Pods, node: Node, stop: threading.Event
) -> Check:
    def tried(entry: Entry) -> Evidence:
        if stop.is_set():
            return Evidence(fault=STOPPED)
        return run_attempt(single(experiment, task, entry, BAND.name), pods, node).evidence

    nop, oracle = tried(NOP), tried(ORACLE)
    status, why = judged(nop, oracle)
    return Check(task.name, status, why, classify(nop).model_dump(), classify(oracle).model_dump())


def judged(nop: Evidence, oracle: Evidence) -> tuple[Status, str]:
    """Whose defect two attempts show: pure.

    A verifier that never gives a verdict is the task's defect when the pod was well.
    """
    for name, outcome in (("no-op", classify(nop)), ("oracle", classify(oracle))):
        if outcome.verdict == "infra_error":
            own = outcome.cause == "verifier_error" and outcome.oom is None
            words = f"{name}: {outcome.cause}: {outcome.detail or outcome.rule}"
            return ("task" if own else "infrastructure"), words
    if classify(nop).verdict == "passed":
        return "task", "no-op: it scores 1, so the verifier passes an untouched pod"
    solved = classify(oracle)
    if solved.verdict == "passed":
        return "ok", ""
    why = f"oracle: {solved.cause} (reward {solved.reward:g}): its solution does not solve it here"
    return "task", why + _stopped(oracle)


def _stopped(oracle: Evidence) -> str:
    agent = oracle.phase("agent")
    if agent is None or not agent.left_behind:
        return ""
    return (
        f"; {agent.left_behind} process(es) that it left running were stopped before the verifier: "
        'if a running service is the answer, set [pods] after_agent = "keep"'
    )


def _print(
    console: Console, checks: list[Check], notices: list[dict[str, str]], *, as_json: bool
) -> None:
    if as_json:
        document = {"checks": [asdict(check) for check in checks], "notices": notices}
        Console().print_json(json.dumps(document))
        return
    table = Table(box=None, pad_edge=False)
    for name in ("task", "verdict", "evidence"):
        table.add_column(name, overflow="fold")
    style = {"ok": "green", "task": "yellow", "infrastructure": "red"}
    for check in checks:
        verdict = "ok" if check.status == "ok" else f"{check.status} defect"
        table.add_row(Text(check.task), Text(verdict, style=style[check.status]), Text(check.why))
    console.print(table)
    for notice in notices:
        console.print(f"note: {notice['task']}: {notice['why']}", style="yellow", markup=False)
    fit = sum(check.status == "ok" for check in checks)
    console.print(f"{fit} of {len(checks)} tasks are fit to run here ({_date()})")


def _date() -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def misfit_of(check: Check) -> Misfit:
    """A check that failed, as a reason not to run its task."""
    kind: Kind = "task" if check.status == "task" else "infrastructure"
    return Misfit(task=check.task, kind=kind, why=check.why)
