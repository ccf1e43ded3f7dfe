"""How outlets end: with their pods, with the process that carries, with a worker that is killed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from infranoise.models.errors import StartFailed
from infranoise.workers.network.link import join
from infranoise.workers.network.namespace import within
from infranoise.workers.outlet.link import why_no_outlets
from infranoise.workers.outlet.outlets import LOST, Outlets
from infranoise.workers.outlet.trying import canary_at, node_address, try_out, try_port

pytestmark = pytest.mark.links
WORKER = """
import sys, time
from infranoise.workers.outlet.outlets import Outlets
outlets = Outlets()
outlets.open("attempt", int(sys.argv[1]), ("site.test",), "")
print(outlets.pid, flush=True)
time.sleep(300)
"""


@pytest.fixture
def sleeper(missing: Callable[[str], NoReturn]) -> Iterator[int]:
    """A process in a network of its own, with nothing in it."""
    if why := why_no_outlets():
        missing(why)
    words = ("unshare", "-n", "sh", "-c", "ip link set lo up; echo; exec sleep 300")
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


def devices(pid: int) -> set[str]:
    text = Path(f"/proc/{pid}/net/dev").read_text()
    return {line.partition(":")[0].strip() for line in text.splitlines() if ":" in line}


def until(condition: Callable[[], bool]) -> None:
    """Wait for what the kernel does in its own time."""
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_worker_that_is_killed_leaves_no_process_no_link_and_no_network(sleeper: int) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(sleeper)], stdout=subprocess.PIPE, text=True
    ) as worker:
        assert worker.stdout is not None
        carrier = Path("/proc", worker.stdout.readline().strip())
        assert devices(sleeper) == {"lo", "eth0"}
        worker.kill()
    until(lambda: not carrier.exists())
    until(lambda: devices(sleeper) == {"lo"})


def test_the_process_that_carries_has_no_rights_and_nothing_of_the_worker_s_environment(
    sleeper: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFRANOISE_BROKER_URL", "redis://:secret@localhost")
    outlets = Outlets()
    try:
        outlets.open("attempt", sleeper, (), "")
        carrier = Path(f"/proc/{outlets.pid}")
        status = dict(
            line.split(":\t", 1) for line in (carrier / "status").read_text().splitlines()
        )
        assert status["Uid"].split() == ["65534"] * 4
        assert int(status["CapEff"], 16) == 0
        assert b"secret" not in (carrier / "environ").read_bytes()
    finally:
        outlets.close()


def test_what_a_dead_process_carried_is_told_as_lost_also_by_the_next(sleeper: int) -> None:
    outlets = Outlets()
    outlet = outlets.open("first", sleeper, ("site.test",), "")
    assert outlet.seen().lost == ""
    assert outlets.pid is not None
    os.kill(outlets.pid, signal.SIGKILL)
    until(lambda: devices(sleeper) == {"lo"} or outlet.seen().lost != "")
    with subprocess.Popen(
        ("unshare", "-n", "sh", "-c", "ip link set lo up; echo; exec sleep 300"),
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        again = outlets.open("second", other.pid, ("site.test",), "")
        assert again.close().lost == ""
        other.kill()
    assert outlet.close().lost.startswith(LOST)
    assert outlet.close().lost.startswith(LOST)
    outlets.close()


def test_a_link_that_leads_to_this_node_fails_the_trial_from_inside(sleeper: int) -> None:
    join(sleeper)
    with pytest.raises(StartFailed, match="nobody answers") as fault:
        try_out(sleeper, None)
    assert "names" in str(fault.value)


def test_a_port_of_this_node_that_is_reached_fails_the_trial_from_inside(sleeper: int) -> None:
    join(sleeper)
    here = node_address()
    if here is None:
        pytest.skip("this machine has no address but loopback")

    def through() -> str:
        subprocess.run(("ip", "route", "add", here, "dev", "eth0"), check=True)
        return try_port(canary.getsockname())

    with canary_at(here) as canary, pytest.raises(StartFailed, match="reaches port"):
        within(sleeper, through)
