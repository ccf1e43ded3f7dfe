"""A whole fleet on one machine: PostgreSQL, Valkey, schedulers and workers as real processes.

Each process reaches the queue's server over a link of its own and reads a clock of its own, and a
process that ended is started again after a while, as a supervisor would.
"""

import contextlib
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from own_fleet import Process
from own_postgres import OwnPostgres
from own_valkey import OwnValkey
from sqlalchemy import Engine
from tcp_proxy import TcpProxy

from infranoise.cli.submit import Asked, submit
from infranoise.models.errors import InfranoiseError
from infranoise.models.ledger.live import standings
from infranoise.models.ledger.store import open_store
from infranoise.scheduler.leases import Leases

PATIENCE_S = 120.0
SUPERVISED_EVERY_S = 0.25
FAKE_CLOCK = Path(__file__).parents[1] / "fakeclock"


@dataclass
class Part:
    """A process of the fleet, its link and its clock. `away` keeps the supervisor off it."""

    name: str
    words: tuple[str, ...]
    environ: dict[str, str]
    log: Path
    clock: Path
    link: TcpProxy | None = None
    inside: tuple[str, ...] = ()
    away: float = 0.0
    process: Process | None = None
    ends: list[int] = field(default_factory=list)

    def start(self) -> None:
        self.process = Process(self.words, self.environ, self.log, self.inside)

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.alive


class Stage:
    """The fleet. Give it servers that run; `close` ends what it started."""

    def __init__(
        self, folder: Path, postgres: OwnPostgres, valkey: OwnValkey, slots: int = 3
    ) -> None:
        self.folder, self.postgres, self.valkey = folder, postgres, valkey
        self.slots = slots
        self.parts: dict[str, Part] = {}
        self.experiments: list[str] = []
        self.engine: Engine = open_store(postgres.address)
        self.leases = Leases(valkey.door)
        self._closing = threading.Event()
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)

    # -- parts --------------------------------------------------------------------------------

    def scheduler(self, name: str, *, inside: tuple[str, ...] = (), broker: str = "") -> None:
        """Start a scheduler; `inside` and `broker` as for a worker."""
        self._add(name, ("scheduler", "--json"), {}, inside, broker)

    def worker(
        self, node: str, *, inside: tuple[str, ...] = (), broker: str = "", grace_s: float = 5
    ) -> None:
        """Start a node's worker.

        Args:
            inside: what is put before its command.
            broker: where it finds the queue's server; over a link of its own unless given.
        """
        state = self.state(node)
        state.mkdir(parents=True, exist_ok=True)
        asked = ("--slots", str(self.slots), "--cpus", "64", "--grace", f"{grace_s:g}")
        words = ("worker", "--node", node, *asked)
        quiet = {"INFRANOISE_STATE": str(state), "INFRANOISE_PROBE_EVERY": "0"}
        self._add(node, words, quiet, inside, broker)

    def _add(
        self,
        name: str,
        words: tuple[str, ...],
        more: dict[str, str],
        inside: tuple[str, ...],
        broker: str,
    ) -> None:
        link = None if broker else TcpProxy(self.valkey.hosts[0], self.valkey.port)
        clock = self.folder / f"{name}.clock"
        clock.write_text("0")
        path = os.pathsep.join((str(FAKE_CLOCK), os.environ.get("PYTHONPATH", "")))
        environ = {
            "INFRANOISE_STORE": self.postgres.address,
            "INFRANOISE_BROKER_URL": f"redis://127.0.0.1:{link.port}/0" if link else broker,
            "INFRANOISE_BLOBS": str(self.folder / "blobs"),
            "INFRANOISE_TEST_CLOCK": str(clock),
            "PYTHONPATH": path.rstrip(os.pathsep),
        }
        log = self.folder / f"{name}.log"
        self.parts[name] = Part(name, words, environ | more, log, clock, link, inside)
        self.parts[name].start()

    def state(self, node: str) -> Path:
        """Where a node keeps its pods."""
        return self.folder / node

    def begin(self) -> None:
        """Wait until all workers take trials and one scheduler leads; supervise from then on."""
        nodes = {name for name in self.parts if self.parts[name].words[0] == "worker"}
        self.until(
            lambda: nodes <= {n.id for n in self.leases.nodes() if n.takes_trials}, "all are up"
        )
        self.until(self.leases.leader, "one leads")
        self._supervisor.start()

    def leader(self) -> str:
        """The part that leads, "" where none does."""
        with contextlib.suppress(InfranoiseError, IndexError, ValueError):
            pid = int(self.leases.leader().split(":")[1])
            for part in self.parts.values():
                if part.process is not None and part.process.pid == pid:
                    return part.name
        return ""

    def _supervise(self) -> None:
        while not self._closing.wait(SUPERVISED_EVERY_S):
            for part in self.parts.values():
                if not part.alive and time.monotonic() >= part.away:
                    if part.process is not None:
                        part.ends.append(part.process.ended())
                    part.start()

    # -- work ---------------------------------------------------------------------------------

    def submit(
        self, solution: str, *, samples: int, max_attempts: int = 5, runtime: str = "process"
    ) -> str:
        """Submit an experiment on one task that solves itself; asks again if it must."""
        name = f"c-{secrets.token_hex(4)}"
        task = self.folder / "tasks" / name
        for path, text in {
            "task.toml": 'version = "1.0"\n[environment]\nmemory_mb = 64\n'
            "[agent]\ntimeout_sec = 120.0\n[verifier]\ntimeout_sec = 120.0\n",
            "instruction.md": "Do it.",
            "environment/Dockerfile": "FROM debian:bookworm-slim\nWORKDIR /app\n",
            "tests/test.sh": "[ -f /app/answer ]; echo $((1 - $?)) > /logs/verifier/reward.txt",
            "solution/solve.sh": f"echo at work; {solution}",
        }.items():
            (task / path).parent.mkdir(parents=True, exist_ok=True)
            (task / path).write_text(text)
        file = self.folder / f"{name}.toml"
        file.write_text(
            f'name = "{name}"\ntasks = ["tasks/{name}"]\nsamples = {samples}\n'
            'bands = ["2x", "uncapped"]\n[[entries]]\nagent = "oracle"\n'
            f'[pods]\nruntime = "{runtime}"\nnetwork = "none"\n'
            f"[run]\nmax_attempts = {max_attempts}\n"
        )
        asked = Asked(self.postgres.address, None, blobs=str(self.folder / "blobs"), flower=None)
        with (self.folder / "submit.log").open("a") as log, contextlib.redirect_stdout(log):
            self.until(lambda: submit(file, asked) == 0, f"{name} is submitted")
        self.experiments.append(name)
        return name

    def open_trials(self) -> int:
        """Trials without an outcome, all experiments together."""
        mine = (one for one in standings(self.engine) if one.name in self.experiments)
        return sum(one.planned - one.n for one in mine)

    def until(self, condition: Callable[[], object], what: str, patience_s: float = 0) -> None:
        """Wait for something that only others can tell; servers may be away meanwhile."""
        deadline = time.monotonic() + (patience_s or PATIENCE_S)
        while True:
            with contextlib.suppress(InfranoiseError):
                if condition():
                    return
            assert time.monotonic() < deadline, f"waited in vain until {what}; {self.said()}"
            time.sleep(0.1)

    def said(self) -> str:
        """The last lines of every part's log."""
        last = {n: part.log.read_text(errors="replace")[-1500:] for n, part in self.parts.items()}
        return "\n".join(f"--- {name}\n{text}" for name, text in last.items())

    def said_by(self, name: str) -> Iterator[dict[str, object]]:
        """What a scheduler said, as it said it."""
        for line in self.parts[name].log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)

    def close(self) -> None:
        """End every part, gently first, so that none leaves a pod."""
        self._closing.set()
        if self._supervisor.ident is not None:
            self._supervisor.join()
        for part in self.parts.values():
            if part.process is not None:
                part.process.kill()
            if part.link is not None:
                part.link.close()
        self.leases.close()
        self.engine.dispose()
