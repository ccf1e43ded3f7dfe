"""What must hold of a fleet when all trials have their outcome, whatever happened to it."""

import json
import math
import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from infranoise.models.lease import keys
from infranoise.models.ledger import reading
from infranoise.models.ledger.ingest import LOST
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.tables import CELL, EVENT, TRIAL

from .stage import Stage

NOTICED_WITHIN_S = 10.0


@dataclass(frozen=True)
class Finding:
    """One sentence that must hold, whether it did, and the figures."""

    sentence: str
    holds: bool
    figures: str


def judge(stage: Stage, max_attempts: int) -> list[Finding]:
    """Hold every sentence against the ledger, the queue's server and this machine."""
    lines = [line for name in stage.experiments for line in reading.attempts(stage.engine, name)]
    return [
        *_trials(stage, lines),
        *_attempts(stage, lines, max_attempts),
        *_capacity(stage),
        *_nothing_left(stage),
    ]


def _trials(stage: Stage, lines: list[AttemptLine]) -> Iterator[Finding]:
    mine = TRIAL.c.experiment.in_(stage.experiments)
    with stage.engine.connect() as connection:
        trials = connection.execute(select(TRIAL.c.id, TRIAL.c.accepted).where(mine)).all()
        cells = connection.execute(
            select(CELL.c.planned, CELL.c.n, CELL.c.passed, CELL.c.infra_errors).where(
                CELL.c.experiment.in_(stage.experiments)
            )
        ).all()
    ended = {line.id: line for line in lines}
    without = [id_ for id_, accepted in trials if accepted not in ended]
    strange = [a for id_, a in trials if a in ended and ended[a].trial != id_]
    yield Finding(
        "every trial has exactly one accepted outcome, an attempt of its own",
        not without and not strange,
        f"{len(trials)} trials, {len(without)} without, {len(strange)} with another's",
    )
    accepted = [line for line in lines if line.accepted]
    counted = tuple(sum(cell[i] for cell in cells) for i in range(4))
    verdicts = Counter(line.verdict for line in accepted)
    recount = (len(trials), len(accepted), verdicts["passed"], verdicts["infra_error"])
    yield Finding(
        "the cells count each accepted outcome once", counted == recount, f"{counted} = {recount}"
    )
    failed = [line.id for line in lines if line.verdict == "failed"]
    yield Finding("no false failed", not failed, f"{dict(verdicts)} accepted; failed: {failed[:5]}")


def _attempts(stage: Stage, lines: list[AttemptLine], max_attempts: int) -> Iterator[Finding]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for line in lines:
        numbers[line.trial].append(line.number)
    gaps = [t for t, seen in numbers.items() if sorted(seen) != list(range(1, len(seen) + 1))]
    unended = [line.id for line in lines if line.verdict is None]
    unknown = _events(stage, "record of an unknown attempt")
    yield Finding(
        "every attempt is kept, and has ended",
        not gaps and not unended and not unknown,
        f"{len(lines)} attempts, {len(gaps)} gaps, {len(unended)} open, {len(unknown)} unknown",
    )
    tries = Counter(line.trial for line in lines if line.verdict not in (None, "cancelled"))
    most = max(tries.values(), default=0)
    yield Finding("no trial has more attempts than it may", most <= max_attempts, f"at most {most}")
    late = _events(stage, "late or doubled record")
    causes = Counter(line.cause for line in lines if line.verdict == "infra_error")
    yield Finding(
        "late and doubled records count for nothing, and are kept",
        True,
        f"{len(late)} refused; infra errors: {dict(causes)}",
    )


@dataclass(frozen=True)
class Noticed:
    """How long nodes had not been heard of when what they had begun was given up, in order.

    `beside_gaps`: the queue's server was away or stood still meanwhile, so that nobody was heard.
    """

    after_s: tuple[float, ...]
    beside_gaps_s: tuple[float, ...]


def noticed(stage: Stage) -> Noticed:
    """What the evidence of lost attempts says of how soon they were noticed."""
    told = [json.loads(document) for document in _events(stage, LOST)]
    lost = [one for one in told if one["started"] and one["silent_s"] is not None]
    return Noticed(
        tuple(sorted(one["silent_s"] for one in lost if not one["gap"])),
        tuple(sorted(one["silent_s"] for one in lost if one["gap"])),
    )


def soon_enough(seen: Noticed) -> Finding:
    """Whether lost attempts were noticed soon enough, at the 95th percentile."""
    return Finding(
        "lost attempts are noticed within 10 s (p95)",
        not seen.after_s or _p95(seen.after_s) <= NOTICED_WITHIN_S,
        f"{_figures(seen.after_s)}; where the queue's server was away meanwhile: "
        f"{_figures(seen.beside_gaps_s)}",
    )


def _p95(after_s: tuple[float, ...]) -> float:
    return after_s[math.ceil(0.95 * len(after_s)) - 1]


def _figures(after_s: tuple[float, ...]) -> str:
    if not after_s:
        return "none"
    middle = after_s[len(after_s) // 2]
    most = f"median {middle:.1f}, p95 {_p95(after_s):.1f}, max {after_s[-1]:.1f} s"
    return f"{len(after_s)} lost, {most}"


def _events(stage: Stage, kind: str) -> list[str]:
    with stage.engine.connect() as connection:
        return list(connection.scalars(select(EVENT.c.document).where(EVENT.c.kind == kind)))


def _capacity(stage: Stage) -> Iterator[Finding]:
    nodes = stage.leases.nodes()
    taken = [n.id for n in nodes if n.free != n.total]
    with stage.valkey.client() as client:
        left = [
            key
            for pattern in ("lease:*", "held:*", "expiry", "cancel")
            for key in client.scan_iter(f"{keys.PREFIX}:{pattern}")
        ]
        records = client.xlen(keys.RECORDS)
    yield Finding(
        "all capacity is free again, no lease is left",
        not taken and not left,
        f"{len(nodes)} nodes, taken on {taken}, keys {left[:5]}",
    )
    yield Finding("every record has come home", not records, f"{records} on the stream")


def _nothing_left(stage: Stage) -> Iterator[Finding]:
    states = [stage.state(n) for n, part in stage.parts.items() if part.words[0] == "worker"]
    pods = [pod.name for s in states for pod in (s / "pods").glob("*") if pod.is_dir()]
    processes = list(_orphans(stage, states))
    containers = _containers(stage)
    yield Finding(
        "no orphan: no pod, no process, no container",
        not pods and not processes and not containers,
        f"pods {pods[:5]}, processes {processes[:5]}, containers {containers[:5]}",
    )


def _orphans(stage: Stage, states: list[Path]) -> Iterator[str]:
    """Processes whose files lie in a pod, or that stand in a pod's cgroup."""
    attempts = {
        line.id for name in stage.experiments for line in reading.attempts(stage.engine, name)
    }
    ours = {part.process.pid for part in stage.parts.values() if part.process}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in ours | {os.getpid()}:
            continue
        try:
            said = (entry / "cmdline").read_bytes() + (entry / "cgroup").read_bytes()
        except OSError:
            continue
        text = said.decode(errors="replace")
        if any(f"{state}/pods" in text for state in states) or any(a in text for a in attempts):
            yield f"{entry.name} {text[:80]!r}"


def _containers(stage: Stage) -> list[str]:
    try:
        listed = subprocess.run(
            ("docker", "ps", "-a", "--format", "{{.Names}} {{.Labels}}"),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        return []
    return [
        line.split()[0]
        for line in listed.stdout.splitlines()
        if any(name in line for name in stage.experiments)
    ]
