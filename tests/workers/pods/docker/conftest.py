"""A Docker engine, and relays to it that are slow or seem to be on another machine."""

import socket
import socketserver
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import docker
import pytest
from docker.errors import DockerException, ImageNotFound

from infranoise.models.limits import Limits
from infranoise.workers.pods.docker.pods import DockerPods
from infranoise.workers.pods.pod import PodOrder

ENGINE = "/var/run/docker.sock"
BASE = "debian:bookworm-slim"


@pytest.fixture(scope="session")
def engine(missing: Callable[[str], NoReturn]) -> Iterator[docker.APIClient]:
    """A client of this machine's engine, which has the base image."""
    try:
        client = docker.APIClient(version="auto")
        client.inspect_image(BASE)  # type: ignore[no-untyped-call]
    except ImageNotFound:
        missing(f"the image {BASE} (deploy/base-image.sh makes one)")
    except DockerException as error:
        missing(f"a Docker engine ({error})")
    yield client
    client.close()


@pytest.fixture(scope="session")
def docker_pods(engine: docker.APIClient, tmp_path_factory: pytest.TempPathFactory) -> DockerPods:
    """The docker runtime of this machine."""
    return DockerPods(locks=tmp_path_factory.mktemp("locks"))


@pytest.fixture(scope="session")
def make_environment(
    engine: docker.APIClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., tuple[Path, str]]]:
    """Write an `environment/` folder; its hash is its own. The images go at the end."""
    hashes: list[str] = []

    def make(dockerfile: str = f"FROM {BASE}\nWORKDIR /app\n", **files: str) -> tuple[Path, str]:
        folder = tmp_path_factory.mktemp("environment")
        for name, text in {"Dockerfile": dockerfile, **files}.items():
            (folder / name).write_text(text)
        hashes.append(f"test-{uuid.uuid4().hex}")
        return folder, hashes[-1]

    yield make
    for one in hashes:
        with suppress(ImageNotFound):
            engine.remove_image(f"infranoise/env:{one}", force=True)


@pytest.fixture(scope="session")
def plain_environment(make_environment: Callable[..., tuple[Path, str]]) -> tuple[Path, str]:
    """The environment of most tests: the base, and a working directory."""
    return make_environment()


@pytest.fixture
def docker_order(plain_environment: tuple[Path, str]) -> Callable[..., PodOrder]:
    """Make an order of the plain environment, or of another; limits are keywords of `Limits`."""

    def make(
        environment: tuple[Path, str] | None = None,
        limits: dict[str, Any] | None = None,
        **more: Any,
    ) -> PodOrder:
        folder, content = environment or plain_environment
        values: dict[str, Any] = {
            "attempt_id": uuid.uuid4().hex,
            "experiment": "tests",
            "trial": "one",
            "environment": folder,
            "environment_hash": content,
            "limits": Limits(**{"pids": 128, **(limits or {})}),
            "expires_at": time.time() + 600,
            "network": "none",
        }
        return PodOrder(**values | more)

    return make


class Relay(socketserver.ThreadingTCPServer):
    """Passes bytes between a loopback port and the engine; its answers `delay_s` late."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, delay_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Passage)
        self.delay_s = delay_s
        self.url = f"tcp://127.0.0.1:{self.server_address[1]}"


class _Passage(socketserver.BaseRequestHandler):
    server: Relay

    def handle(self) -> None:
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(ENGINE)
            asking = threading.Thread(target=_pass_on, args=(self.request, engine, 0.0))
            asking.start()
            _pass_on(engine, self.request, self.server.delay_s)
            asking.join()


def _pass_on(source: socket.socket, sink: socket.socket, delay_s: float) -> None:
    with suppress(OSError):
        while True:
            first = source.recv(65536)
            if not first:
                break
            time.sleep(delay_s)  # what comes meanwhile is passed on together with it
            source.setblocking(False)
            with suppress(BlockingIOError):
                first += source.recv(65536)
            source.setblocking(True)
            sink.sendall(first)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay() -> Iterator[Callable[[float], Relay]]:
    """Open relays to the engine."""
    opened: list[Relay] = []

    def open_one(delay_s: float = 0.0) -> Relay:
        opened.append(Relay(delay_s))
        threading.Thread(target=opened[-1].serve_forever, args=(0.01,)).start()
        return opened[-1]

    yield open_one
    for one in opened:
        one.shutdown()
        one.server_close()
