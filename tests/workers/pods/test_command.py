"""Running one command on this machine: its end, its clock, its output, and its interruption."""

import errno
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from infranoise.models.errors import PodLost
from infranoise.models.execution import ExecResult
from infranoise.workers.pods.command import exit_code, not_begun, run


def sh(script: str, **more: Any) -> ExecResult:
    options: dict[str, Any] = {"env": {"PATH": os.environ["PATH"]}, "cap_bytes": 1000}
    options |= {"kill": lambda: None, "timeout_s": 60.0}
    return run(["sh", "-c", script], **(options | more))


@pytest.mark.parametrize(("returned", "told"), [(0, 0), (3, 3), (-9, 137), (-15, 143), (-1, 129)])
def test_a_signal_reads_as_128_more(returned: int, told: int) -> None:
    assert exit_code(returned) == told


def test_both_outputs_and_the_input_flow_at_once() -> None:
    text = b"line\n" * 200_000
    result = sh("tee /dev/stderr | wc -l", stdin=text)
    assert result.stdout.tail.strip() == "200000"
    assert (result.stderr.total_bytes, result.stderr.truncated) == (len(text), True)


def test_at_the_deadline_the_killer_is_called_once_and_the_output_so_far_is_kept() -> None:
    called: list[float] = []
    result = sh("echo begun; exec sleep 60", timeout_s=0.2, kill=lambda: called.append(1))
    assert (result.exit_code, result.timed_out, result.stdout.tail) == (None, True, "begun\n")
    assert len(called) == 1


def test_without_a_deadline_it_waits(tmp_path: Path) -> None:
    assert sh("sleep 0.1; exit 4", timeout_s=None).exit_code == 4


def test_output_of_a_child_is_read_on_for_a_moment_after_the_end() -> None:
    assert sh("(sleep 0.1; echo late) & echo soon").stdout.tail == "soon\nlate\n"


def test_an_interrupt_kills_the_command_and_is_passed_on() -> None:
    """What Ctrl-C in a worker, or a soft time limit, does in the middle of a command."""
    killed: list[int] = []

    def interrupt() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            sh("exec sleep 60", kill=lambda: killed.append(1))
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert killed == [1]


def test_descriptors_do_not_leak() -> None:
    sh("true")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        sh("echo x; sleep 0.01 &", stdin=b"never read" * 100_000)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_program_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(FileNotFoundError):
        run(["/no/such"], env={}, cap_bytes=10, kill=lambda: None)


def test_a_command_that_cannot_begin_is_told_from_a_machine_that_cannot() -> None:
    with pytest.raises(OSError, match="too long") as raised:
        run(["echo", "x" * 3_000_000], env={}, cap_bytes=10, kill=lambda: None)
    told = not_begun(raised.value)
    assert (told.exit_code, "too long" in told.stderr.tail) == (126, True)
    with pytest.raises(PodLost, match="no process can be started"):
        not_begun(OSError(errno.EMFILE, "too many open files"))
