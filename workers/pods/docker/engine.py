"""The Docker engine of this node: clients, and what the engine is."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
import requests
import urllib3
from docker.errors import DockerException

from ....models.errors import Refused

# What a call to the engine may raise: its own refusals, and a way to it that broke.
ENGINE_ERRORS = (
    DockerException,
    requests.RequestException,
    urllib3.exceptions.HTTPError,  # reads of a streamed answer bypass requests
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
)
ANSWER_TIMEOUT_S = 120
LOCAL_SOCKET = "unix:///var/run/docker.sock"


@dataclass(frozen=True, slots=True)
class EngineFacts:
    """What an engine says of itself. `cgroup_version` is 1, 2, or None where it does not say."""

    version: str
    api_version: str
    storage_driver: str
    backing_filesystem: str
    cgroup_version: int | None
    cgroup_driver: str
    runtime: str
    rootless: bool
    cores: int
    memory_bytes: int
    memory_limit: bool
    swap_limit: bool
    pids_limit: bool
    kernel: str


class Engine:
    """One engine, reached by one SDK client per thread (an SDK client is one HTTP session).

    Args:
        base_url: where the engine listens, `unix://` or `tcp://`; None is the local socket. To
            reach one by ssh or TLS, forward its socket (`ssh -L`): the output of a command has
            to be waited for on a plain socket.
    """

    def __init__(self, base_url: str | None = None) -> None:
        self.base_url = base_url or LOCAL_SOCKET
        self._version: str | None = None
        self._mine = threading.local()

    @property
    def local(self) -> bool:
        """Whether it is reached by a socket file, so that its containers run on this machine."""
        return self.base_url.startswith("unix://")

    def client(self) -> docker.APIClient:
        """This thread's client.

        Raises:
            Refused: no engine answers there.
        """
        client: docker.APIClient | None = getattr(self._mine, "client", None)
        if client is None:
            client = self._mine.client = self.fresh()
            client.close()  # the connection that asked for the version
            # The SDK keeps one pool of connections per URL, and every container has its own URLs:
            # connections are hardly ever used again, and a thread that ends would leave them open.
            client.headers["Connection"] = "close"
            client.trust_env = False  # no proxy stands before an engine; looking for one costs
        return client

    def fresh(self) -> docker.APIClient:
        """A client of its own, for a call that may have to be cut off; close it after use.

        It asks for no `Connection: close`: with that, the engine (20.10) does not notice that its
        caller has hung up, and goes on with the work.
        """
        try:
            if self.local:
                Path(self.base_url.removeprefix("unix://")).stat()
            client = docker.APIClient(
                base_url=self.base_url,
                version=self._version,
                timeout=ANSWER_TIMEOUT_S,
                num_pools=1,
            )
        except (*ENGINE_ERRORS, OSError) as error:
            raise Refused(
                f"no Docker engine answers at {self.base_url}: {error}; start one, or run with the "
                "process runtime",
                reason="no_engine",
            ) from error
        self._version = client.api_version
        return client

    def facts(self) -> EngineFacts:
        """Ask the engine what it is.

        Raises:
            Refused: no engine answers.
        """
        try:
            return read_facts(self.client().info(), self._version or "")
        except ENGINE_ERRORS as error:
            raise Refused(
                f"the Docker engine at {self.base_url} does not answer: {error}", reason="no_engine"
            ) from error


@contextmanager
def answers_closed(client: docker.APIClient) -> Iterator[list[requests.Response]]:
    """Notes every answer that comes meanwhile, and closes them at the end, read or not."""
    answers: list[requests.Response] = []

    def note(answer: requests.Response, *_: object, **__: object) -> None:
        answers.append(answer)

    client.hooks["response"].append(note)
    try:
        yield answers
    finally:
        client.hooks["response"].remove(note)
        for answer in answers:
            answer.close()


def read_facts(info: dict[str, object], api_version: str) -> EngineFacts:
    """Read the engine's answer to `info`. Pure."""
    status = dict(pair for pair in _pairs(info.get("DriverStatus")))
    security = [str(option) for option in _list(info.get("SecurityOptions"))]
    cgroup = str(info.get("CgroupVersion") or "")
    return EngineFacts(
        version=str(info.get("ServerVersion", "")),
        api_version=api_version,
        storage_driver=str(info.get("Driver", "")),
        backing_filesystem=status.get("Backing Filesystem", ""),
        cgroup_version=int(cgroup) if cgroup.isdigit() else None,
        cgroup_driver=str(info.get("CgroupDriver", "")),
        runtime=str(info.get("DefaultRuntime", "")),
        rootless=any("rootless" in option for option in security),
        cores=_int(info.get("NCPU")),
        memory_bytes=_int(info.get("MemTotal")),
        memory_limit=bool(info.get("MemoryLimit")),
        swap_limit=bool(info.get("SwapLimit")),
        pids_limit=bool(info.get("PidsLimit")),
        kernel=str(info.get("KernelVersion", "")),
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _pairs(value: object) -> list[tuple[str, str]]:
    return [
        (str(pair[0]), str(pair[1]))
        for pair in _list(value)
        if isinstance(pair, list) and len(pair) == 2
    ]


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def explain(error: BaseException) -> str:
    """The engine's own words in an error, without the URL of the call."""
    said = getattr(error, "explanation", None)
    return str(said) if said else str(error)
