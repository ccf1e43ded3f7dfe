"""One show: a fleet is set up, kept at work, broken by a schedule, and judged."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from own_postgres import find_postgres, own_postgres
from own_valkey import OwnValkey

from infranoise.models.ledger import reading

from .faults import KINDS
from .schedule import Happened, Schedule
from .stage import Stage
from .verdict import Finding, Noticed, judge, noticed, soon_enough

MAX_ATTEMPTS = 8
SETTLED_WITHIN_S = 45
QUEUE_DISK_MIB, NODE_DISK_MIB = 48, 128
WORK = ("", "sleep 1; ", "sleep 3; ", "sleep 12; ")  # what a trial does before it is solved


@dataclass(frozen=True)
class Shown:
    """What a show was and what became of it."""

    seed: int
    wall_s: float
    happened: tuple[Happened, ...]
    missed: dict[str, int]
    findings: tuple[Finding, ...]
    noticed: Noticed

    @property
    def holds(self) -> bool:
        return all(one.holds for one in self.findings)


def possible_kinds(*, docker: bool) -> list[str]:
    """The kinds of faults that can be made here."""
    without = set() if docker else {"container killed"}
    if os.geteuid() != 0:
        without |= {"node's disk full", "queue's disk full"}
    return [kind for kind in KINDS if kind not in without]


def show(
    seed: int,
    kinds: Sequence[str],
    faults: int,
    *,
    until_s: float,
    nodes: int = 3,
    docker: bool = False,
    keep: Path | None = None,
    pause_s: tuple[float, float] = (1.0, 6.0),
    samples: int = 10,
    work: Sequence[str] = WORK,
) -> Shown:
    """Play one schedule and judge what is left.

    Args:
        until_s: no fault begins after so long.
        docker: whether some trials run in containers.
        keep: where the logs are kept.
        pause_s: seconds between two faults, at least and at most.
        samples: of each experiment, of which one after another is submitted.
        work: what the trials of one, the next, … do before they are solved.
    """
    began, turn = time.monotonic(), count()
    with _stage(nodes) as stage:
        schedule = Schedule(seed, kinds, faults, pause_s)

        def feed() -> None:
            number = next(turn)
            if stage.open_trials() < 6 * samples:
                runtime = "docker" if docker and number % 4 == 3 else "process"
                solution = f"{work[number % len(work)]}touch answer"
                stage.submit(solution, samples=samples, max_attempts=MAX_ATTEMPTS, runtime=runtime)

        schedule.play(stage, lambda: stage.until(lambda: feed() or True, "work is there"), until_s)
        stage.until(lambda: not stage.open_trials(), "every trial has an outcome", 300)
        found, waits_until = judge(stage, MAX_ATTEMPTS), time.monotonic() + SETTLED_WITHIN_S
        while not all(one.holds for one in found) and time.monotonic() < waits_until:
            time.sleep(1)
            found = judge(stage, MAX_ATTEMPTS)
        seen = noticed(stage)
        found.append(soon_enough(seen))
        if keep is not None:
            _keep_logs(stage, keep)
    wall_s = time.monotonic() - began
    happened = tuple(sorted(schedule.happened, key=lambda one: one.at_s))
    return Shown(seed, wall_s, happened, dict(schedule.missed), tuple(found), seen)


@contextmanager
def _stage(nodes: int) -> Iterator[Stage]:
    programs = find_postgres()
    if programs is None:
        raise RuntimeError("PostgreSQL's server is not installed (package `postgresql`)")
    with ExitStack() as stack:
        postgres = stack.enter_context(own_postgres(programs))
        folder = Path(tempfile.mkdtemp(prefix="infranoise-chaos-", dir="/var/tmp"))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for name, size_mib in (("queue", QUEUE_DISK_MIB), ("n1", NODE_DISK_MIB)):
            stack.enter_context(_disk(folder / name, size_mib))
        valkey = OwnValkey(folder / "queue")
        valkey.start()
        stack.callback(valkey.end)
        stage = Stage(folder, postgres, valkey)
        stack.callback(stage.close)
        for number in range(nodes):
            stage.worker(f"n{number + 1}")
        for number in range(2):
            stage.scheduler(f"s{number + 1}")
        stage.begin()
        yield stage


@contextmanager
def _disk(folder: Path, size_mib: int) -> Iterator[None]:
    """A small disk of its own, where we may mount one."""
    folder.mkdir()
    if os.geteuid() != 0:
        yield
        return
    subprocess.run(
        ("mount", "-t", "tmpfs", "-o", f"size={size_mib}m,mode=755", "chaos", folder), check=True
    )
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", folder), check=True)


def _keep_logs(stage: Stage, keep: Path) -> None:
    """What every part said, and every attempt that did not pass with what it left."""
    keep.mkdir(parents=True, exist_ok=True)
    for log in (*stage.folder.glob("*.log"), stage.folder / "queue" / "log"):
        shutil.copy(log, keep / log.name)
    lines = [line for name in stage.experiments for line in reading.attempts(stage.engine, name)]
    told = [
        f"{line.id} on {line.node}: {line.verdict} {line.cause} {line.detail}"
        f" {line.record.encode() if line.record else ''}"
        for line in lines
        if line.verdict != "passed"
    ]
    (keep / "attempts.txt").write_text("\n".join(told))
