"""A fleet of one's own: a private queue server, schedulers and workers as real processes."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from typer.testing import CliRunner

from infranoise.cli.main import app
from infranoise.cli.steer import steer
from infranoise.cli.submit import Asked, submit
from infranoise.models.ledger import live, reading
from infranoise.models.ledger.reading import AttemptLine
from infranoise.models.ledger.states import State
from infranoise.models.ledger.store import open_store
from infranoise.scheduler.leases import Leases

PATIENCE_S = 60.0
PROGRAM = (sys.executable, "-m", "infranoise")
QUICK, SLOW = "touch answer", "sleep 300; touch answer"


def until(condition: Callable[[], object], what: str, log: "Process | None" = None) -> None:
    """Wait for something that only processes of others can tell."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        said = f": {log.said()}" if log else ""
        assert time.monotonic() < deadline, f"waited in vain until {what}{said}"
        time.sleep(0.05)


class Process:
    """A service of the fleet; its output goes to a file."""

    def __init__(
        self,
        words: tuple[str, ...],
        environ: dict[str, str],
        log: Path,
        inside: tuple[str, ...] = (),
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                (*inside, *PROGRAM, *words),
                env=os.environ | environ,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def ended(self) -> int:
        """Its exit code, once it has ended."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        if self.alive:
            self.send(signal.SIGKILL)
        self.ended()


class Fleet:
    """One store, one queue server, and the processes that were started on them."""

    def __init__(self, folder: Path, broker: str) -> None:
        self.folder, self.broker = folder, broker
        self.store = folder / "ledger.sqlite"
        self.engine: Engine = open_store(self.store)
        self.leases = Leases(broker)
        self.workers: dict[str, Process] = {}
        self.schedulers: list[Process] = []
        self.told_schedulers: dict[str, str] = {}  # variables of theirs alone

    @property
    def environ(self) -> dict[str, str]:
        return {"INFRANOISE_STORE": str(self.store), "INFRANOISE_BROKER_URL": self.broker}

    def run(self, *words: str) -> str:
        """Run a command of the program to its end, in this process; its standard output."""
        ended = CliRunner().invoke(app, words, env=self.environ)
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise ended.exception
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    def told(self, *words: str) -> Any:
        """What a command says with `--json`."""
        return json.loads(self.run(*words, "--json"))

    def scheduler(self) -> Process:
        """Start one more scheduler."""
        log = self.folder / f"scheduler-{len(self.schedulers)}.log"
        environ = self.environ | self.told_schedulers
        self.schedulers.append(Process(("scheduler",), environ, log))
        return self.schedulers[-1]

    def worker(self, node: str, *words: str) -> Process:
        """Start the worker of a node, unless it runs."""
        known = self.workers.get(node)
        if known is None or not known.alive:
            environ = self.environ | {"INFRANOISE_STATE": str(self.folder / node)}
            asked = ("worker", "--node", node, "--slots", "2", "--cpus", "8", *words)
            self.workers[node] = Process(asked, environ, self.folder / f"{node}.log")
        return self.workers[node]

    def await_up(self, *nodes: str) -> None:
        """Wait until the workers that were started last take trials."""
        for node in nodes:
            until(lambda: self._is_up(node), f"{node} is up", self.workers[node])  # noqa: B023

    def _is_up(self, node: str) -> bool:
        found = next((one for one in self.leases.nodes() if one.id == node), None)
        ours = found is not None and found.hello.pid == self.workers[node].pid
        return found is not None and ours and found.takes_trials

    def condition(self, node: str) -> str:
        """What the fleet thinks of a node."""
        return next((n.condition for n in self.leases.nodes() if n.id == node), "unknown")

    def experiment(
        self,
        solution: str = QUICK,
        samples: int = 4,
        max_attempts: int = 1,
        bands: Sequence[str] = ("1x", "uncapped"),
    ) -> Path:
        """A file with an experiment on a task that solves itself in this way."""
        name = f"e-{secrets.token_hex(4)}"  # two fleets on one machine must not share a name
        for path, text in {
            "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n',
            "instruction.md": "Do it.",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
            "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
            "solution/solve.sh": f"echo at work; {solution}",
        }.items():
            file = self.folder / "tasks" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        experiment = self.folder / f"{name}.toml"
        experiment.write_text(
            f'name = "{name}"\ntasks = ["tasks/{name}"]\nsamples = {samples}\n'
            f'bands = {json.dumps(bands)}\n[[entries]]\nagent = "oracle"\n'
            '[pods]\nruntime = "process"\nnetwork = "none"\n'
            f"[run]\nmax_attempts = {max_attempts}\n"
        )
        return experiment

    def submit(self, experiment: Path) -> str:
        """Submit an experiment; its name."""
        submit(experiment, Asked(str(self.store), self.broker, blobs=None, flower=None))
        return experiment.stem

    def steer(self, name: str, state: State) -> None:
        """Pause, resume or cancel an experiment."""
        steer(str(self.store), name, state, as_json=False)

    def standing(self, name: str) -> live.Standing:
        return live.standings(self.engine, name)[0]

    def done(self, name: str) -> bool:
        return self.standing(name).word == "done"

    def attempts(self, name: str) -> list[AttemptLine]:
        return list(reading.attempts(self.engine, name))

    def under_way(self, name: str) -> dict[str, str]:
        """Node by attempt id, of what was started and has not ended."""
        held = {a: node.id for node in self.leases.nodes() for a in self.leases.holds(node.id)}
        placed = (line.id for line in self.attempts(name) if line.verdict is None)
        return {attempt: held[attempt] for attempt in placed if attempt in held}

    def pods(self, node: str) -> list[str]:
        """The pods whose files lie on a node."""
        folder = self.folder / node / "pods"
        return [pod.name for pod in folder.iterdir()] if folder.exists() else []

    @contextmanager
    def drained(self, node: str) -> Iterator[None]:
        """A node that gets nothing meanwhile."""
        self.run("nodes", "drain", node)
        try:
            yield
        finally:
            self.run("nodes", "up", node)

    def end(self) -> None:
        """Kill what still runs."""
        for process in (*self.workers.values(), *self.schedulers):
            process.kill()
        self.leases.close()
        self.engine.dispose()
