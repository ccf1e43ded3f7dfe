"""One attempt's container, as a pod."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Self

import docker
from docker.errors import APIError, NotFound

from ....models.counters import Counters
from ....models.egress_seen import EgressSeen
from ....models.errors import PodLost, Unschedulable
from ....models.execution import KILLED, ExecResult
from ....models.limits import Effective
from .. import archive
from ..pod import PodOrder
from . import config as docker_config
from . import loss as docker_loss
from .container import Container
from .engine import ENGINE_ERRORS, Engine, EngineFacts, answers_closed, explain
from .exec import Command, Execution
from .watch import Blind
from .ways import Way, Ways

LOG = logging.getLogger(__name__)
# The engine's words, in 409, 500 and 404 answers; the last is of a container that ended between a
# command's making and its start.
NOT_BEGUN = ("is not running", "No such exec instance")


class DockerPod:
    """A `Pod` in a container of its own, with nothing in it but the engine's init and `sleep`.

    Everything that can be read or killed from the host is; where the engine runs on another
    machine, its API has to do.
    """

    root = ""

    def __init__(
        self,
        engine: Engine,
        facts: EngineFacts,
        order: PodOrder,
        image_id: str,
        owner: str,
        ways: Ways,
    ) -> None:
        self._facts, self._order = facts, order
        self.image_id, self._owner, self._way = image_id, owner, Way(order, ways)
        self._container = Container(engine, order.limits, order.start_timeout_s)
        self._command_began = 0.0
        self._kills_before: int | None = None

    def start(self) -> Effective:
        """Create and start the container; return its limits as read back.

        Raises:
            Unschedulable: the memory floor is more than the host has.
            StartFailed: with the engine's reason.
        """
        self._refuse_a_floor_above_the_host()
        network, env, names = self._way.prepared()
        body = docker_config.container(self._order, self.image_id, self._owner, network, env)
        body["HostConfig"] |= names
        effective = self._effective(self._container.make(body))
        return self._way.settled(self._container, effective)

    def egress(self) -> EgressSeen | None:
        """What went through its outlet, if it has one."""
        return self._way.seen()

    def stop(self) -> None:
        """Kill and remove the container and its anonymous volumes, and close its way out."""
        try:
            self._container.remove()
        except ENGINE_ERRORS as error:
            # What was measured stands; the container is left for `reap`.
            LOG.warning("a container was not removed: %s", explain(error))
        finally:
            self._way.close()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _refuse_a_floor_above_the_host(self) -> None:
        floor, has = self._order.limits.memory_floor_bytes, self._facts.memory_bytes
        if floor is not None and floor > has > 0:
            raise Unschedulable(
                f"the memory floor of {floor} bytes is more than the {has} bytes of the Docker "
                "host; lower the floor, or run this band on a larger node",
                memory_floor_bytes=floor,
                memory_host_bytes=has,
            )

    def _effective(self, inspected: Mapping[str, Any]) -> Effective:
        version = f"v{self._facts.cgroup_version}" if self._facts.cgroup_version else "unknown"
        name = f"docker:cgroup-{version}"
        got = docker_config.accepted(inspected["HostConfig"], name)
        if self._container.host is not None:
            got = self._container.host.effective(got)
        differs = docker_config.differences(self._order.limits, got, self._facts.cores)
        return got.model_copy(update={"differs": differs})

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        cwd: str | None = None,
        stdin: bytes = b"",
    ) -> ExecResult:
        """Run one command, as `Pod.exec` says.

        Raises:
            PodLost: the facts `reason` (`oom_killed`, `removed`, `exited`, `engine`),
                `oom_killed` and `exit_code` say what became of the container.
        """
        self._refuse_if_ended()
        command = Command(
            argv=argv,
            timeout_s=timeout_s,
            cap_bytes=self._order.output_cap_bytes,
            env=dict(env or {}),
            user=user or "",
            cwd=cwd,
            stdin=stdin,
        )
        with self._container.reached() as client:
            result = self._run(client, command)
            if result is None:
                # It did not begin, so this is the command's first run and not a second.
                self._raise_up(client)
                result = self._run(client, command)
        if result is None:
            raise PodLost("the container does not stay up", reason="exited", oom_killed=None)
        return result

    def _refuse_if_ended(self) -> None:
        host = self._container.host
        if host is not None and host.watch.ended_by_oom:
            raise PodLost(
                "an OOM kill has ended this pod (oom_scope = pod)",
                reason="oom_killed",
                oom_killed=True,
            )

    def _run(self, client: docker.APIClient, command: Command) -> ExecResult | None:
        """Run a command once; None if it did not begin, because the container is down."""
        container, host = self._container, self._container.host
        watch = host.watch if host is not None else Blind()
        execution = Execution(
            client, container.id, command, watch=watch, kill=container.kill, here=host is not None
        )
        began, kills_before = time.monotonic(), container.oom_kills()
        try:
            result = execution.run()
        except APIError as error:
            if any(words in explain(error) for words in NOT_BEGUN):
                return None
            raise
        if execution.started:
            self._command_began, self._kills_before = began, kills_before
        if watch.settle() and not result.timed_out:
            return result.model_copy(update={"exit_code": KILLED})
        doubtful = result.exit_code == KILLED or not execution.started
        if doubtful and not container.runs(client):
            if not execution.started:
                return None
            self._raise_up(client)
        return result

    def _raise_up(self, client: docker.APIClient) -> None:
        """Start a container again that a command in it has brought down.

        A command that killed everything it saw (`kill -9 -1`, `pkill sleep`) took the idle process
        with it. That was its own doing and no failure of ours; the container's files stay.

        Raises:
            PodLost: the kernel (out of memory) or someone outside ended it.
        """
        container = self._container
        state = client.inspect_container(container.id)["State"]
        happened = docker_loss.events(client, container.id, state)
        kills = docker_loss.Kills(self._kills_before, container.oom_kills())
        # By the engine's clock: this process's may be another, and may have jumped meanwhile.
        since = docker_loss.now(client) - (time.monotonic() - self._command_began)
        if not docker_loss.self_inflicted(state, happened, kills, since):
            raise docker_loss.from_state(state, "it is no longer there for the next command")
        container.start_again(client)

    def quiesce(self) -> int:
        """Kill every process but PID 1 and its idle child, as `Pod.quiesce` says."""
        return self._container.kill()

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """Copy in, as `Pod.upload` says; what arrives belongs to root."""
        with self._container.reached() as client:
            # The SDK passes an iterator on as it is: the archive is never held as a whole.
            client.put_archive(self._container.id, "/", archive.pack(source, target))

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """Copy out, as `Pod.download` says. A link that is asked for is followed, once: the
        engine resolves it inside the container."""
        cap_bytes = self._order.limits.storage_ceiling_bytes or archive.DOWNLOAD_CAP_BYTES
        with self._container.reached() as client, answers_closed(client):
            try:
                pieces, status = self._archive(client, str(source))
                if status["linkTarget"]:
                    pieces, _ = self._archive(client, status["linkTarget"])
            except NotFound:
                return False
            return archive.unpack(iter(pieces), target, cap_bytes)

    def _archive(self, client: docker.APIClient, path: str) -> tuple[Any, dict[str, Any]]:
        return client.get_archive(self._container.id, path, chunk_size=archive.PIECE_BYTES)

    def counters(self) -> Counters:
        """What the container has consumed, as `Pod.counters` says."""
        return self._container.counters()
