"""The queue's server and the ledger go away and come back; disks fill; clocks jump."""

import contextlib
import os
import signal
import time
from pathlib import Path
from random import Random

import sqlalchemy

from infranoise.models.lease import keys

from .aim import Missed, nodes
from .stage import Stage

SHIFT = """
local by = tonumber(ARGV[1])
for _, key in ipairs({KEYS[1], KEYS[2]}) do
  local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do redis.call('ZADD', key, all[i + 1] + by, all[i]) end
end
if redis.call('HEXISTS', KEYS[3], 'at') == 1 then redis.call('HINCRBY', KEYS[3], 'at', by) end
return 1
"""


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
    found = [stage.state(node) for node in nodes(stage) if stage.state(node).is_mount()]
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
