"""One attempt's container."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tarfile import TarError
from typing import Any, Self

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from ...models.counters import Counters
from ...models.errors import PodLost, StartFailed, Unschedulable
from ...models.execution import KILLED, ExecResult
from ...models.limits import Effective
from . import archive, docker_config, docker_counters, docker_loss, docker_remote
from .docker_config import IDLE
from .docker_engine import ENGINE_ERRORS, Engine, EngineFacts, explain
from .docker_exec import Command, Execution
from .docker_host import HostView, view
from .docker_watch import Idle
from .pod import PodOrder

LOG = logging.getLogger(__name__)
NOT_RUNNING = "is not running"  # the engine's words, in 409 and 500 answers
KEPT_PROCESSES = 2  # the engine's init and the idle process
ENDINGS, ENDING_PAUSE_S = 500, 0.01  # asked until the engine knows what the kernel has told
REMOVALS, REMOVAL_PAUSE_S, HTTP_CONFLICT = 100, 0.05, 409


class DockerPod:
    """A `Pod` in a container of its own, with nothing in it but the engine's init and `sleep`.

    Everything that can be read or killed from the host is; where the engine runs on another
    machine, its API has to do.
    """

    root = ""

    def __init__(
        self, engine: Engine, facts: EngineFacts, order: PodOrder, image_id: str, owner: str
    ) -> None:
        self._engine, self._facts, self._order = engine, facts, order
        self.image_id, self._owner = image_id, owner
        self._id: str | None = None
        self._host: HostView | None = None
        self._before: Counters | None = None
        self._command_began = 0.0
        self._kills_before: int | None = None

    # --- start and stop ---

    def start(self) -> Effective:
        """Create and start the container; return its limits as read back.

        Raises:
            Unschedulable: the memory floor is more than the host has.
            StartFailed: with the engine's reason.
        """
        self._refuse_a_floor_above_the_host()
        body = docker_config.container(self._order, self.image_id, self._owner)
        with self._starting() as client:
            made = client.create_container_from_config(body)  # type: ignore[no-untyped-call]
            self._id = str(made["Id"])
            client.start(self._id)
            state = self._meet(client, self._id)
        return self._effective(state)

    def stop(self) -> None:
        """Kill and remove the container and its anonymous volumes."""
        if self._host is not None:
            self._host.close()
        if self._id is not None:
            try:
                remove(self._engine.client(), self._id)
            except ENGINE_ERRORS as error:
                # What was measured stands; the container is left for `reap`.
                LOG.warning("container %s was not removed: %s", self._id, explain(error))

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

    @contextmanager
    def _starting(self) -> Iterator[docker.APIClient]:
        client = self._engine.client()
        patience, client.timeout = client.timeout, max(1, round(self._order.start_timeout_s))
        try:
            yield client
        except ENGINE_ERRORS as error:
            slow = isinstance(error, requests.Timeout)
            raise StartFailed(
                f"the container did not start: {explain(error)}",
                reason="start_timeout" if slow else "engine_refused",
            ) from error
        finally:
            client.timeout = patience

    def _meet(self, client: docker.APIClient, container: str) -> dict[str, Any]:
        """Look at the container that has just been started, and find it on this host.

        Raises:
            StartFailed: its first process did not stay.
        """
        deadline = time.monotonic() + self._order.start_timeout_s
        inspected: dict[str, Any] = client.inspect_container(container)
        host = view(inspected, self._order.limits) if self._engine.local else None
        stayed = (
            host.wait_for(IDLE[0], deadline)
            if host is not None
            else docker_remote.wait_for(client, container, IDLE, deadline)
        )
        if not stayed:
            state = client.inspect_container(container)["State"]
            raise StartFailed(
                f"the container's first process did not stay (exit code {state['ExitCode']}); the "
                f"image must have a `{IDLE[0]}` program, and the memory ceiling room for it",
                reason="idle_process",
                exit_code=state["ExitCode"],
                oom_killed=state["OOMKilled"],
            )
        self._host = host
        return inspected

    def _effective(self, inspected: Mapping[str, Any]) -> Effective:
        version = f"v{self._facts.cgroup_version}" if self._facts.cgroup_version else "unknown"
        name = f"docker:cgroup-{version}"
        got = docker_config.accepted(inspected["HostConfig"], name)
        if self._host is not None:
            got = self._host.effective(got)
        differs = docker_config.differences(self._order.limits, got, self._facts.cores)
        return got.model_copy(update={"differs": differs})

    # --- work ---

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
        container = self._alive()
        command = Command(
            argv=argv,
            timeout_s=timeout_s,
            cap_bytes=self._order.output_cap_bytes,
            env=dict(env or {}),
            user=user or "",
            cwd=cwd,
            stdin=stdin,
        )
        with self._reaching() as client:
            result = self._run(client, container, command)
            if result is None:
                # It did not begin, so this is the command's first run and not a second.
                self._raise_up(client)
                result = self._run(client, container, command)
        if result is None:
            raise PodLost("the container does not stay up", reason="exited", oom_killed=None)
        return result

    def _run(self, client: docker.APIClient, container: str, command: Command) -> ExecResult | None:
        """Run a command once; None if it did not begin, because the container is down."""
        watch = self._host.watch if self._host else Idle()
        execution = Execution(
            client, container, command, watch=watch, kill=self.quiesce, here=self._host is not None
        )
        began, kills_before = time.time(), self._kills()
        try:
            result = execution.run()
        except APIError as error:
            if NOT_RUNNING in explain(error):
                return None
            raise
        if execution.started:
            self._command_began, self._kills_before = began, kills_before
        if watch.settle() and not result.timed_out:
            return result.model_copy(update={"exit_code": KILLED})
        suspicious = result.exit_code == KILLED or not execution.started
        if suspicious and not self._runs(client, container):
            if not execution.started:
                return None
            self._raise_up(client)
        return result

    def quiesce(self) -> int:
        """Kill every process but PID 1 and its idle child, from outside.

        Where that is not permitted the container is killed whole and started again: its files
        stay, and its counters are carried over.
        """
        if self._id is None:
            return 0
        killed = self._host.kill() if self._host is not None else None
        if killed is None:
            with self._reaching() as client:
                running = (client.top(self._id) or {}).get("Processes") or ()
                self._start_again(client)
                killed = max(0, len(running) - KEPT_PROCESSES)
        return killed

    def upload(self, source: Path, target: PurePosixPath) -> None:
        """Copy in, as `Pod.upload` says; what arrives belongs to root."""
        with self._reaching() as client:
            # The SDK passes an iterator on as it is: the archive is never held as a whole.
            client.put_archive(self._existing(), "/", archive.pack(source, target))

    def download(self, source: PurePosixPath, target: Path) -> bool:
        """Copy out, as `Pod.download` says."""
        cap_bytes = self._order.limits.storage_ceiling_bytes or archive.DOWNLOAD_CAP_BYTES
        path = str(source)
        with self._reaching() as client:
            for _ in range(2):
                try:
                    pieces, status = client.get_archive(
                        self._existing(), path, chunk_size=archive.PIECE_BYTES
                    )
                except NotFound:
                    return False
                # A link is followed once: the engine resolves it inside the container.
                if not status["linkTarget"] or status["linkTarget"] == path:
                    return archive.unpack(iter(pieces), target, cap_bytes)
                path = status["linkTarget"]
                pieces.close()
        return False

    def counters(self) -> Counters:
        """What the container has consumed: from its control group, else from the engine.

        Of a container that is gone, what was last seen of it on this host.
        """
        if self._host is not None:
            gone = not self._host.alive()
            now = self._host.counters(oom_killed=gone and self._oom_killed())
        else:
            with self._reaching() as client:
                now = docker_remote.counters(client, self._existing())
        return now if self._before is None else docker_counters.summed(self._before, now)

    def _oom_killed(self) -> bool:
        try:
            client = self._engine.client()
            return bool(client.inspect_container(self._existing())["State"]["OOMKilled"])
        except ENGINE_ERRORS:
            return False  # removed: what was counted while it lived is all that is known

    # --- life and death ---

    def _existing(self) -> str:
        if self._id is None:
            raise PodLost("the pod was never started, or is stopped", reason="removed")
        return self._id

    def _alive(self) -> str:
        """The container's id.

        Raises:
            PodLost: an OOM kill has ended a pod whose scope says that it does.
        """
        if self._host is not None and self._host.watch.ended_by_oom:
            raise PodLost(
                "an OOM kill has ended this pod (oom_scope = pod)",
                reason="oom_killed",
                oom_killed=True,
            )
        return self._existing()

    @contextmanager
    def _reaching(self) -> Iterator[docker.APIClient]:
        """Turn whatever goes wrong between here and the container into what became of it."""
        try:
            yield self._engine.client()
        except (*ENGINE_ERRORS, TarError) as error:
            raise docker_loss.lost(self._engine.client, self._id or "", explain(error)) from error

    def _runs(self, client: docker.APIClient, container: str) -> bool:
        if self._host is not None and not self._host.ending():
            return True
        for _ in range(ENDINGS if self._host is not None else 1):
            if not client.inspect_container(container)["State"]["Running"]:
                return False
            time.sleep(ENDING_PAUSE_S)
        return True

    def _kills(self) -> int | None:
        return self._host.watch.last.oom_kills if self._host is not None else None

    def _raise_up(self, client: docker.APIClient) -> None:
        """Start a container again that a command in it has brought down.

        A command that killed everything it saw (`kill -9 -1`, `pkill sleep`) took the idle process
        with it. That was its own doing and no failure of ours; the container's files stay.

        Raises:
            PodLost: the kernel (out of memory) or someone outside ended it.
        """
        state = client.inspect_container(self._existing())["State"]
        happened = docker_loss.events(client, self._existing(), state)
        kills = docker_loss.Kills(self._kills_before, self._kills())
        if not docker_loss.self_inflicted(state, happened, kills, self._command_began):
            raise docker_loss.from_state(state, "it is no longer there for the next command")
        self._start_again(client)

    def _start_again(self, client: docker.APIClient) -> None:
        """Kill what is left, and start the container anew: its counters begin at zero."""
        self._before = self.counters()
        if self._host is not None:
            self._host.close()
        container = self._existing()
        # Not the engine's own `restart`: 20.10 may take the files away from under the new life.
        if client.inspect_container(container)["State"]["Running"]:
            client.kill(container)
            client.wait(container)
        client.start(container)
        try:
            self._meet(client, container)
        except StartFailed as error:
            raise PodLost(
                f"the container could not be started again: {error}", reason="exited"
            ) from error


def remove(client: docker.APIClient, container: str) -> None:
    """Kill and remove a container with its anonymous volumes, however often it is asked.

    Raises:
        ENGINE_ERRORS: the engine would not.
    """
    for _ in range(REMOVALS):
        try:
            client.remove_container(container, v=True, force=True)
        except NotFound:
            return
        except APIError as error:
            if error.status_code != HTTP_CONFLICT:
                raise
            time.sleep(REMOVAL_PAUSE_S)  # someone else is removing it: see that it goes
        else:
            return
    raise DockerException(f"container {container} is being removed, but does not go")
