"""Workers, schedulers and pods that are killed or stand still."""

import contextlib
import os
import signal
import time
from pathlib import Path
from random import Random

from infranoise.workers.pods import owner
from infranoise.workers.pods.process import residue

from .aim import LONGER_THAN_A_LEASE_S, Missed, leader, nodes, running
from .stage import Part, Stage


def _kill(part: Part, random: Random) -> str:
    assert part.process is not None
    away_s = random.choice((0.0, 3.0, 9.0))
    part.away = time.monotonic() + away_s
    with contextlib.suppress(ProcessLookupError):
        os.kill(part.process.pid, signal.SIGKILL)
    return f"{part.name}, away {away_s:g} s"


def _freeze(part: Part, for_s: float) -> str:
    assert part.process is not None
    pid = part.process.pid
    try:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(for_s)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return f"{part.name} for {for_s:.1f} s"


def kill_worker(stage: Stage, random: Random) -> str:
    return _kill(running(stage, "worker", random), random)


def freeze_worker(stage: Stage, random: Random) -> str:
    part = running(stage, "worker", random)
    return _freeze(part, random.uniform(2, 4) + random.choice((0, LONGER_THAN_A_LEASE_S)))


def kill_scheduler(stage: Stage, random: Random) -> str:
    return _kill(leader(stage), random)


def freeze_scheduler(stage: Stage, random: Random) -> str:
    return _freeze(leader(stage), LONGER_THAN_A_LEASE_S + random.uniform(0, 3))


def _pods(stage: Stage) -> list[tuple[Path, residue.Residue]]:
    states = [stage.state(name) for name in nodes(stage)]
    found = [pod for state in states for pod in residue.read_all(state / "pods")]
    return [(path, one) for path, one in found if one.first]


def _members(one: residue.Residue) -> list[int]:
    pids: list[int] = []
    for group in one.cgroups[:1]:
        with contextlib.suppress(OSError):
            pids += map(int, (Path(group) / "cgroup.procs").read_text().split())
    return pids


def kill_pod(stage: Stage, random: Random) -> str:
    """SIGKILL to the first process of a pod: the whole pod goes."""
    found = [one for _, one in _pods(stage) if not owner.dead(one.first, one_machine=True)]
    if not found:
        raise Missed("no process pod is there")
    one = random.choice(found)
    with contextlib.suppress(ProcessLookupError):
        os.kill(int(one.first.split(":")[2]), signal.SIGKILL)
    return one.attempt_id


def freeze_pod(stage: Stage, random: Random) -> str:
    found = [(one, pids) for _, one in _pods(stage) if (pids := _members(one))]
    if not found:
        raise Missed("no process pod is there")
    one, pids = random.choice(found)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        if number == signal.SIGSTOP:
            time.sleep(random.uniform(1, 3))
    return f"{one.attempt_id}, {len(pids)} processes"


def kill_container(stage: Stage, random: Random) -> str:
    """`docker kill` of a pod that is a container."""
    import docker

    client = docker.from_env()
    try:
        mine = set(stage.experiments)
        found = [one for one in client.containers.list() if mine & set(one.labels.values())]
        if not found:
            raise Missed("no container is there")
        with contextlib.suppress(docker.errors.APIError):
            random.choice(found).kill()
        return "one container"
    finally:
        client.close()
