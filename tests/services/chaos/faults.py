"""The faults, one function a kind: each breaks something, waits, and lets it heal.

A fault returns words for what it did; `Missed` where there was nothing to break at that moment.
"""

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import redis
import sqlalchemy

from infranoise.models.lease import keys
from infranoise.models.message import node_queue
from infranoise.workers.pods import owner
from infranoise.workers.pods.process import residue

from .stage import Part, Stage

LONGER_THAN_A_LEASE_S = 8.0
SHIFT = """
local by = tonumber(ARGV[1])
for _, key in ipairs({KEYS[1], KEYS[2]}) do
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do redis.call('ZADD', key, all[i + 1] + by, all[i]) end
end
if redis.call('HEXISTS', KEYS[3], 'at') == 1 then redis.call('HINCRBY', KEYS[3], 'at', by) end
return 1
"""


class Missed(Exception):
    """There was nothing to break."""


Fault = Callable[[Stage, Random], str]


def _running(stage: Stage, word: str, random: Random) -> Part:
    found = [part for part in stage.parts.values() if part.words[0] == word and part.alive]
    if not found:
        raise Missed(f"no {word} is alive")
    return random.choice(found)


def _leader(stage: Stage) -> Part:
    name = stage.leader()
    if not name:
        raise Missed("nobody leads")
    return stage.parts[name]


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


# -- processes ------------------------------------------------------------------------------------


def kill_worker(stage: Stage, random: Random) -> str:
    return _kill(_running(stage, "worker", random), random)


def freeze_worker(stage: Stage, random: Random) -> str:
    part = _running(stage, "worker", random)
    return _freeze(part, random.uniform(2, 4) + random.choice((0, LONGER_THAN_A_LEASE_S)))


def kill_scheduler(stage: Stage, random: Random) -> str:
    return _kill(_leader(stage), random)


def freeze_scheduler(stage: Stage, random: Random) -> str:
    return _freeze(_leader(stage), LONGER_THAN_A_LEASE_S + random.uniform(0, 3))


def _pods(stage: Stage) -> list[tuple[Path, residue.Residue]]:
    states = [stage.state(name) for name, p in stage.parts.items() if p.words[0] == "worker"]
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


# -- servers --------------------------------------------------------------------------------------


def _restart_queue(stage: Stage, number: int, away_s: float) -> str:
    stage.valkey.end(number)
    time.sleep(away_s)
    stage.valkey.start()
    return f"away {away_s:.1f} s"


def end_queue(stage: Stage, random: Random) -> str:
    return _restart_queue(stage, signal.SIGTERM, random.uniform(0, 4))


def kill_queue(stage: Stage, random: Random) -> str:
    return _restart_queue(stage, signal.SIGKILL, random.uniform(0, 4))


def freeze_queue(stage: Stage, random: Random) -> str:
    for_s = random.choice((3.0, 10.0))
    stage.valkey.send(signal.SIGSTOP)
    time.sleep(for_s)
    stage.valkey.send(signal.SIGCONT)
    return f"for {for_s:g} s"


def restart_ledger(stage: Stage, random: Random) -> str:
    mode = random.choice(("fast", "immediate"))
    stage.postgres.stop(mode)
    time.sleep(random.uniform(0, 4))
    stage.postgres.start()
    return mode


def cut_ledger(stage: Stage, random: Random) -> str:
    """End every connection to the ledger."""
    ends = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> "
    engine = sqlalchemy.create_engine(stage.postgres.address, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        told = connection.exec_driver_sql(f"{ends} pg_backend_pid()").scalar()
    return f"{told} connections"


# -- links and messages ---------------------------------------------------------------------------


def reset_links(stage: Stage, random: Random) -> str:
    links = [part.link for part in stage.parts.values() if part.link is not None]
    return f"{sum(link.reset() for link in links)} connections"


def hold_link(stage: Stage, random: Random) -> str:
    """One process hears nothing and is not heard, and nobody tells it so."""
    part = random.choice(list(stage.parts.values()))
    for_s = random.choice((2.0, LONGER_THAN_A_LEASE_S + 2))
    if part.link is None:
        raise Missed(f"{part.name} has no link of its own")
    part.link.hold()
    try:
        time.sleep(for_s)
    finally:
        part.link.flow()
    return f"{part.name} for {for_s:g} s"


def _take_messages(stage: Stage, client: "redis.Redis", within_s: float) -> tuple[str, list[str]]:
    """Messages taken from nodes' queues before their workers had them."""
    queues = [node_queue(n) for n, part in stage.parts.items() if part.words[0] == "worker"]
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        got = client.brpop(queues, timeout=1)
        if got:
            return str(got[0]), [str(got[1])]
    raise Missed("no message came by")


def drop_message(stage: Stage, random: Random) -> str:
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
    return f"{len(messages)} of {queue}"


def double_message(stage: Stage, random: Random) -> str:
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
        client.rpush(queue, *messages, *messages)
    return f"{len(messages)} of {queue}"


def replay_message(stage: Stage, random: Random) -> str:
    """A message comes again, on its own queue and on another's, long after it was first sent."""
    with stage.valkey.client() as client:
        queue, messages = _take_messages(stage, client, 10)
        client.rpush(queue, *messages)
        time.sleep(random.uniform(4, 10))
        nodes = [n for n, part in stage.parts.items() if part.words[0] == "worker"]
        client.rpush(queue, *messages)
        client.rpush(node_queue(random.choice(nodes)), *messages)
    return f"{len(messages)} of {queue}"


# -- disks and clocks -----------------------------------------------------------------------------


def _fill(folder: Path, for_s: float) -> str:
    ballast = folder / "ballast"
    free = os.statvfs(folder)
    free_bytes = free.f_bavail * free.f_frsize
    if not folder.is_mount():
        raise Missed(f"{folder} is no disk of its own")
    try:
        with contextlib.suppress(OSError), ballast.open("ab") as file:
            while True:
                file.write(b"\0" * 65536)
                file.flush()
        time.sleep(for_s)
    finally:
        ballast.unlink(missing_ok=True)
    return f"{folder.name}, {free_bytes // 2**20} MiB for {for_s:.1f} s"


def fill_node_disk(stage: Stage, random: Random) -> str:
    nodes = [n for n, part in stage.parts.items() if part.words[0] == "worker"]
    found = [stage.state(node) for node in nodes if stage.state(node).is_mount()]
    if not found:
        raise Missed("no node has a disk of its own")
    return _fill(random.choice(found), random.uniform(2, 5))


def fill_queue_disk(stage: Stage, random: Random) -> str:
    return _fill(stage.valkey.folder, random.uniform(2, 5))


def jump_clock(stage: Stage, random: Random) -> str:
    """The clock of one process jumps, and stays so for a while."""
    part = random.choice(list(stage.parts.values()))
    by_s = random.choice((-3600.0, -20.0, 20.0, 3600.0))
    part.clock.write_text(str(by_s))
    try:
        time.sleep(random.uniform(4, 8))
    finally:
        part.clock.write_text("0")
    return f"{part.name} by {by_s:+g} s and back"


def jump_queue_clock(stage: Stage, random: Random) -> str:
    """All times that the queue's server holds are moved: the same as if its clock had jumped."""
    by_s = random.choice((-3600, -20, 20, 3600))
    with stage.valkey.client() as client:
        shift = client.register_script(SHIFT)
        shift(keys=[keys.BEATS, keys.EXPIRY, f"{keys.PREFIX}:reaper"], args=[-1000 * by_s])
    return f"by {by_s:+d} s"


KINDS: dict[str, Fault] = {
    "worker killed": kill_worker,
    "worker frozen": freeze_worker,
    "scheduler killed": kill_scheduler,
    "scheduler frozen": freeze_scheduler,
    "pod killed": kill_pod,
    "pod frozen": freeze_pod,
    "container killed": kill_container,
    "queue server ended": end_queue,
    "queue server killed": kill_queue,
    "queue server frozen": freeze_queue,
    "ledger restarted": restart_ledger,
    "ledger connections cut": cut_ledger,
    "connections reset": reset_links,
    "link silent": hold_link,
    "message dropped": drop_message,
    "message doubled": double_message,
    "message replayed": replay_message,
    "node's disk full": fill_node_disk,
    "queue's disk full": fill_queue_disk,
    "clock jumped": jump_clock,
    "queue's clock jumped": jump_queue_clock,
}
