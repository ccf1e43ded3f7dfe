"""Images: built once per content, or pulled once per name."""

import fcntl
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import docker
from docker.errors import ImageNotFound
from docker.utils import parse_repository_tag

from ....models.errors import ImageBuildFailed, ImagePullFailed, PodError
from ..pod import PodOrder
from ..tail import Tail
from .engine import ENGINE_ERRORS, Engine, answers_closed, explain

REPOSITORY = "infranoise/env"
LOG_TAIL_BYTES = 16 * 1024
TAG_LENGTH = 128  # the longest that the engine takes

PullFailure = Literal["not_found", "auth", "rate_limit", "network", "unknown"]
# The words of the engine and of registries, from the most telling to the least. "Pull access
# denied" is what an absent repository and a private one both get.
PULL_FAILURES: tuple[tuple[PullFailure, str], ...] = (
    ("rate_limit", r"toomanyrequests|too many requests|rate limit"),
    ("not_found", r"manifest unknown|not found|does not exist|no such image|invalid reference"),
    ("auth", r"unauthorized|authentication required|access.*denied|forbidden|no basic auth"),
    (
        "network",
        r"dial |lookup |no such host|i/o timeout|timed? ?out|not done within|"
        r"deadline exceeded|connection re|unreachable|tls|x509|certificate|EOF|unavailable|"
        r"bad gateway|internal server error",
    ),
)


def pull_failure(message: str) -> PullFailure:
    """Which kind of trouble a failed pull was, from the engine's message.

    >>> pull_failure("toomanyrequests: You have reached your pull rate limit.")
    'rate_limit'
    """
    kinds = (kind for kind, words in PULL_FAILURES if re.search(words, message, re.IGNORECASE))
    return next(kinds, "unknown")


def environment_tag(environment_hash: str) -> str:
    """The name of an environment's image.

    >>> environment_tag("sha256:0af3")
    'infranoise/env:0af3'
    """
    return f"{REPOSITORY}:{environment_hash.removeprefix('sha256:')[:TAG_LENGTH]}"


class Images:
    """What pods are made from, on one engine.

    Args:
        locks: a folder for lock files, shared by this user's workers on this machine.
        build_network: the engine's network for build steps (`host`, say); None is its default.
        build_args: build arguments for every build.
    """

    def __init__(
        self,
        engine: Engine,
        locks: Path | None = None,
        build_network: str | None = None,
        build_args: Mapping[str, str] | None = None,
    ) -> None:
        self._engine = engine
        self._locks = locks or Path(tempfile.gettempdir()) / f"infranoise-locks-{os.getuid()}"
        self._network, self._args = build_network, dict(build_args or {})
        self._ids: dict[str, str] = {}

    def prepare(self, order: PodOrder) -> str:
        """The image of an order, by content id; built or pulled if it is not here.

        Raises:
            ImageBuildFailed, ImagePullFailed
        """
        name = order.image or environment_tag(order.environment_hash)
        with self._lock(name):
            here = self._known(name)
            if here is None:
                self._pull(order) if order.image else self._build(order, name)
                here = self._known(name)
        if here is None:
            raise ImageBuildFailed(
                f"the engine has no image {name} although it made it", image=name
            )
        return here

    def id_of(self, order: PodOrder) -> str | None:
        """The prepared image of an order; None before `prepare`."""
        name = order.image or environment_tag(order.environment_hash)
        return self._ids.get(name) or self._known(name)

    def _known(self, name: str) -> str | None:
        try:
            client = self._engine.client()
            self._ids[name] = client.inspect_image(name)["Id"]  # type: ignore[no-untyped-call]
        except ImageNotFound:
            self._ids.pop(name, None)
        return self._ids.get(name)

    @contextmanager
    def _lock(self, name: str) -> Iterator[None]:
        """One piece of work per image, among threads and among the workers of this machine."""
        self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._locks / re.sub(r"[^\w.-]", "_", name)).open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _build(self, order: PodOrder, name: str) -> None:
        log = Tail(LOG_TAIL_BYTES)
        try:
            with _cut_off(self._engine, order.build_timeout_s) as client:
                lines = client.build(
                    path=str(order.environment),
                    tag=name,
                    rm=True,
                    forcerm=True,
                    decode=True,
                    timeout=_whole(order.build_timeout_s),
                    network_mode=self._network,
                    buildargs=dict(self._args),
                    labels={"dev.infranoise.environment": order.environment_hash},
                )
                _follow(lines, log)
        except (*ENGINE_ERRORS, OSError, TypeError) as error:  # also a context that cannot be read
            raise _build_failed(order, explain(error), log) from error

    def _pull(self, order: PodOrder) -> None:
        assert order.image is not None
        repository, tag = parse_repository_tag(order.image)
        log = Tail(LOG_TAIL_BYTES)
        try:
            with _cut_off(self._engine, order.build_timeout_s) as client:
                # Without a tag the SDK would fetch every tag of the repository.
                _follow(client.pull(repository, tag or "latest", stream=True, decode=True), log)
        except ENGINE_ERRORS as error:
            message = explain(error)
            raise ImagePullFailed(
                f"image {order.image} could not be pulled: {message}; pull it by hand on this "
                "node, or check the name and the registry",
                image=order.image,
                kind=pull_failure(message),
            ) from error


class StepFailed(docker.errors.DockerException):
    """The engine's report of a build or pull ended in an error."""


def _follow(lines: Iterable[dict[str, Any]], log: Tail) -> None:
    """Read the engine's progress to its end.

    Raises:
        StepFailed: it ended in an error.
    """
    for line in lines:
        log.feed(str(line.get("stream", "")).encode())
        if "error" in line:
            raise StepFailed(str(line["error"]))


def _build_failed(order: PodOrder, message: str, log: Tail) -> PodError:
    tail = log.stream().tail.strip()
    steps = re.findall(r"^Step \d+/\d+ : (\w+)", tail, re.MULTILINE)
    text = f"the image of {order.environment} could not be built: {message}"
    if tail:
        text += f"; the build's last words:\n{tail}"
    if steps and steps[-1].upper() == "FROM":
        # The builder stopped at naming its base: the Dockerfile is not to blame.
        kind = pull_failure(message)
        return ImagePullFailed(text, environment_hash=order.environment_hash, kind=kind)
    return ImageBuildFailed(text, environment_hash=order.environment_hash)


def _whole(timeout_s: float) -> int:
    return max(1, round(timeout_s))


@contextmanager
def _cut_off(engine: Engine, timeout_s: float) -> Iterator[docker.APIClient]:
    """A client whose answer is broken off when the time is over, however it trickles.

    Raises:
        TimeoutError: the time was over. The engine cancels a build whose client hangs up.
    """
    client, started = engine.fresh(), time.monotonic()
    with closing(client), answers_closed(client) as answers:

        def hang_up() -> None:
            for answer in answers:
                with suppress(OSError, ValueError, RuntimeError):  # it has just ended by itself
                    answer.raw.shutdown()

        timer = threading.Timer(timeout_s, hang_up)
        timer.start()
        try:
            yield client
        except ENGINE_ERRORS:
            if time.monotonic() - started < timeout_s:
                raise
        finally:
            timer.cancel()
    if time.monotonic() - started >= timeout_s:
        raise TimeoutError(f"not done within {timeout_s:g} s")
