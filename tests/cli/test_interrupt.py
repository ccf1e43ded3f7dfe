"""A run may be cut off at any moment, in any way; run again, it loses and doubles nothing.

What it started is gone afterwards: no process, no pod, no server is left behind.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from infranoise.cli.folder import locked
from infranoise.models.errors import DesignError, LedgerError
from infranoise.models.ledger import reading
from infranoise.models.ledger.store import open_store

EXPERIMENT = """
name = "cut"
tasks = ["task"]
samples = 6
bands = ["1x", "uncapped"]
[[entries]]
agent = "oracle"
[pods]
runtime = "process"
network = "none"
"""
TRIALS = 12
PATIENCE_S = 60.0


class Run:
    """`infranoise run` in a process of its own, marked so that what it starts can be found."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.mark = f"INFRANOISE_STATE={folder / 'state'}"
        self._folder = folder

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "infranoise", "run", "cut.toml", "--out", str(self.out)],
            cwd=self._folder,
            env=os.environ | dict([self.mark.split("=")]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def outcomes(self) -> int:
        ledger = self.out / "ledger.sqlite"
        if not ledger.exists():
            return 0
        try:
            return reading.progress(open_store(ledger), "cut")[0]
        except LedgerError:
            return 0

    def workers(self) -> int:
        return (self.out / "worker.log").exists()

    def left_behind(self) -> list[str]:
        """Command lines of processes that carry this run's mark (its pods do not: see below)."""
        return [
            (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            for process in Path("/proc").iterdir()
            if process.name.isdecimal() and self._marked(process)
        ]

    def _marked(self, process: Path) -> bool:
        try:
            return self.mark.encode() in (process / "environ").read_bytes().split(b"\0")
        except OSError:
            return False

    def pods(self) -> list[str]:
        folder = self._folder / "state" / "pods"
        return [pod.name for pod in folder.iterdir()] if folder.exists() else []


@pytest.fixture
def run(tmp_path: Path) -> Run:
    task = tmp_path / "task"
    for name, text in {
        "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
        "instruction.md": "Do it.",
        "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
        "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
        "solution/solve.sh": "sleep 0.2; touch /app/answer",
    }.items():
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text(text)
    (tmp_path / "cut.toml").write_text(EXPERIMENT)
    return Run(tmp_path)


def until(
    condition: Callable[[], bool], what: str, process: "subprocess.Popen[str] | None" = None
) -> None:
    """Wait for what other processes do, which send us no event."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        ended = process is not None and process.poll() is not None
        if ended or time.monotonic() > deadline:
            said = process.communicate()[0] if process is not None and ended else ""
            pytest.fail(f"waited in vain until {what}; {said}")
        time.sleep(0.02)


BLOWS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)


def test_a_run_that_is_cut_off_again_and_again_ends_whole(run: Run) -> None:
    chance = random.Random(1)
    moments = [0, *sorted(chance.sample(range(1, TRIALS - 1), len(BLOWS) - 1))]
    for blow, outcomes in zip(BLOWS, moments):
        process = run.start()
        # The first falls on a worker that has only just been started.
        begun = run.outcomes if outcomes else run.workers
        until(lambda: begun() >= max(1, outcomes), f"{outcomes} outcomes", process)  # noqa: B023
        # As at a terminal: Ctrl-C reaches the whole foreground group.
        (os.killpg if blow == signal.SIGINT else os.kill)(process.pid, blow)
        output, _ = process.communicate()
        assert process.returncode == (-blow if blow == signal.SIGKILL else 130), output
        until(lambda: not run.left_behind(), "nothing that the run started runs any more")
        assert blow == signal.SIGKILL or not run.pods()
    process = run.start()
    output, _ = process.communicate()
    assert process.returncode == 0, output
    store = open_store(run.out / "ledger.sqlite")
    assert reading.progress(store, "cut") == (TRIALS, TRIALS)
    accepted = Counter(line.trial for line in reading.attempts(store, "cut") if line.accepted)
    assert set(accepted.values()) == {1}
    assert len(accepted) == TRIALS
    assert sum(cell.n for cell in reading.cell_counts(store, "cut")) == TRIALS
    assert not run.left_behind()
    assert not run.pods()


def test_a_second_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with (
        locked(tmp_path),
        pytest.raises(DesignError, match="another run works in this folder"),
        locked(tmp_path),
    ):
        pass
