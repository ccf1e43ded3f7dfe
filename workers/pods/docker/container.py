"""One container and its lives: made, met on this host, started again, removed."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from tarfile import TarError
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException, NotFound

from ....models.counters import Counters
from ....models.errors import PodLost, StartFailed
from ....models.limits import Limits
from . import counters as docker_counters
from . import loss as docker_loss
from . import remote as docker_remote
from .config import IDLE
from .engine import ENGINE_ERRORS, Engine, explain
from .host import HostView, view

KEPT_PROCESSES = 2  # the engine's init and the idle process
ENDINGS, ENDING_PAUSE_S = 500, 0.01  # asked until the engine knows what the kernel has told
REMOVALS, REMOVAL_PAUSE_S, HTTP_CONFLICT = 100, 0.05, 409


class Container:
    """One container of one pod. `host` is how this machine sees it; None: it runs elsewhere."""

    def __init__(self, engine: Engine, limits: Limits, start_timeout_s: float) -> None:
        self._engine, self._limits = engine, limits
        self._start_timeout_s = start_timeout_s
        self._id: str | None = None
        self._before: Counters | None = None
        self.host: HostView | None = None
        self.met_again: Callable[[HostView], object] = lambda host: None

    @property
    def id(self) -> str:
        """The engine's name for it.

        Raises:
            PodLost: it was never made.
        """
        if self._id is None:
            raise PodLost("the pod was never started", reason="removed", oom_killed=None)
        return self._id

    @contextmanager
    def reached(self) -> Iterator[docker.APIClient]:
        """A client; whatever breaks between here and the container becomes what became of it.

        Raises:
            PodLost
        """
        try:
            yield self._engine.client()
        except (*ENGINE_ERRORS, TarError) as error:
            raise docker_loss.lost(self._engine.client, self.id, explain(error)) from error

    def make(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create and start it, and return it as inspected.

        Raises:
            StartFailed: with the engine's reason.
        """
        client = self._engine.client()
        patience, client.timeout = client.timeout, max(1, round(self._start_timeout_s))
        try:
            made = client.create_container_from_config(body)  # type: ignore[no-untyped-call]
            self._id = str(made["Id"])
            client.start(self._id)
            return self._meet(client)
        except ENGINE_ERRORS as error:
            slow = isinstance(error, requests.Timeout)
            raise StartFailed(
                f"the container did not start: {explain(error)}",
                reason="start_timeout" if slow else "engine_refused",
            ) from error
        finally:
            client.timeout = patience

    def _meet(self, client: docker.APIClient) -> dict[str, Any]:
        """Look at it when it has just been started, and find it on this host.

        Raises:
            StartFailed: its first process did not stay.
        """
        deadline = time.monotonic() + self._start_timeout_s
        inspected: dict[str, Any] = client.inspect_container(self.id)
        host = view(inspected, self._limits) if self._engine.local else None
        if host is not None:
            stayed = host.wait_for(IDLE[0], deadline)
        else:
            stayed = docker_remote.wait_for(client, self.id, IDLE, deadline)
        if not stayed:
            raise _fallen(client.inspect_container(self.id)["State"])
        self.host = host
        return inspected

    def start_again(self, client: docker.APIClient) -> None:
        """Kill what is left of it, and start it anew with its files; its counters are kept.

        Raises:
            PodLost: it does not come up again.
        """
        self._before = self.counters()
        if self.host is not None:
            self.host.close()
        # Not the engine's own `restart`: 20.10 may take the files away from under the new life.
        if client.inspect_container(self.id)["State"]["Running"]:
            client.kill(self.id)
            client.wait(self.id)
        client.start(self.id)
        try:
            self._meet(client)
            if self.host is not None:
                self.met_again(self.host)
        except StartFailed as error:
            raise PodLost(f"it does not start again: {error}", reason="exited") from error

    def runs(self, client: docker.APIClient) -> bool:
        """Whether it is up; asked when a command's end makes that doubtful."""
        if self.host is not None and not self.host.ending():
            return True
        for _ in range(ENDINGS if self.host is not None else 1):
            if not client.inspect_container(self.id)["State"]["Running"]:
                return False
            time.sleep(ENDING_PAUSE_S)
        return True

    def oom_kills(self) -> int | None:
        """As last counted on this host."""
        return None if self.host is None else self.host.watch.last.oom_kills

    def kill(self) -> int:
        """Kill every process but PID 1 and its idle child, and return how many there were.

        Where that is not permitted from outside, it is killed whole and started again.

        Raises:
            PodLost
        """
        if self._id is None:
            return 0
        killed = self.host.kill() if self.host is not None else None
        if killed is None:
            with self.reached() as client:
                running = (client.top(self.id) or {}).get("Processes") or ()
                self.start_again(client)
                killed = max(0, len(running) - KEPT_PROCESSES)
        return killed

    def counters(self) -> Counters:
        """Of all its lives: from its control group, else from the engine. Of a container that is
        gone, what was last seen of it on this host.

        Raises:
            PodLost: it runs elsewhere, and is out of reach.
        """
        if self.host is not None:
            gone = not self.host.alive()
            now = self.host.counters(oom_killed=gone and self._fell_for_memory())
        else:
            with self.reached() as client:
                now = docker_remote.counters(client, self.id)
        return now if self._before is None else docker_counters.summed(self._before, now)

    def _fell_for_memory(self) -> bool:
        try:
            return bool(self._engine.client().inspect_container(self.id)["State"]["OOMKilled"])
        except ENGINE_ERRORS:
            return False  # removed: what was counted while it lived is all that is known

    def remove(self) -> None:
        """Kill and remove it with its anonymous volumes. Safe to call twice.

        Raises:
            ENGINE_ERRORS: the engine would not.
        """
        if self.host is not None:
            self.host.close()
        if self._id is not None:
            remove(self._engine.client(), self._id)


def _fallen(state: Mapping[str, Any]) -> StartFailed:
    return StartFailed(
        f"the container's first process did not stay (exit code {state['ExitCode']}); the image "
        f"must have a `{IDLE[0]}` program, and the memory ceiling must leave room for it",
        reason="idle_process",
        exit_code=state["ExitCode"],
        oom_killed=state["OOMKilled"],
    )


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
