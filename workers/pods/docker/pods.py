"""Pods that are containers of a Docker engine, through its SDK.

Floors are reservations and CPU shares, ceilings are limits and CPU quota, swap is none unless the
band grants it. A pod joins the engine's bridge, one internal bridge that all pods share, or no
network; none is made for it alone, because making and removing one costs more than the rest of a
pod's life.
"""

from collections.abc import Collection, Mapping
from pathlib import Path

from ....models.egress import Egress
from ....models.errors import Refused, StartFailed
from ....models.link import Network
from ...network import egress
from ...outlet.link import why_no_outlets
from ...outlet.outlets import Outlets
from ...outlet.refusing import refuse_outlet
from .. import owner
from ..pod import LINKED, WATCHED, PodOrder
from .config import LABEL, expired
from .container import remove
from .engine import Engine, EngineFacts
from .image import Images
from .network import Networks
from .pod import DockerPod
from .ways import Ways

COMPOSE = "docker-compose.yaml"
DOCKERFILE = "Dockerfile"


class DockerPods:
    """The `Pods` of one Docker engine.

    Args:
        base_url: where it listens (`unix://…` or `tcp://…`); None is the local socket.
        locks: a folder for lock files that all workers of this machine share.
        build_network: the engine's network for build steps; None is its default.
        build_args: build arguments for every build.
        outlets: the ways out of containers that are watched over; None makes its own.
    """

    name = "docker"

    def __init__(
        self,
        base_url: str | None = None,
        *,
        locks: Path | None = None,
        build_network: str | None = None,
        build_args: Mapping[str, str] | None = None,
        outlets: Outlets | None = None,
    ) -> None:
        self._engine = Engine(base_url)
        self._images = Images(self._engine, locks, build_network, build_args)
        self._networks = Networks(self._engine)
        self._outlets = outlets or Outlets()
        self._owner = owner.owner()
        self._facts: EngineFacts | None = None

    def refuse(self, order: PodOrder) -> str | None:
        """Why Docker cannot run such a task, with the remedy; None if it can."""
        environment = order.environment
        if (environment / COMPOSE).is_file():
            return (
                f"a multi-container task ({environment / COMPOSE}): the docker runtime runs one "
                "container per task; leave this task out"
            )
        if order.network in WATCHED and (why := refuse_outlet(order.allow)):
            return why
        if why := self.refuse_link(order.network, order.egress_mbps):
            return why
        if order.image is None and not (environment / DOCKERFILE).is_file():
            return (
                f"neither {environment / DOCKERFILE} nor an image is named: give the task a "
                "Dockerfile or environment.docker_image, or run it with the process runtime"
            )
        return None

    def refuse_link(self, network: Network, egress_mbps: Egress | None) -> str | None:
        """As `Pods.refuse_link` says."""
        if network not in LINKED | WATCHED and egress_mbps is None:
            return None
        if network in WATCHED and (why := refuse_outlet(())):
            return why
        if not self._engine.local:
            return (
                "links of containers on another machine cannot be reached from here; run a "
                'worker there, or set network = "public" without the factor egress_mbps'
            )
        return egress.no_cap(network, egress_mbps, linked=True)

    def prepare(self, order: PodOrder) -> str:
        """Build or pull the image of an order; returns its content id.

        Raises:
            Refused, ImageBuildFailed, ImagePullFailed
        """
        reason = self.refuse(order)
        if reason is not None:
            raise Refused(reason, runtime=self.name)
        return self._images.prepare(order)

    def pod(self, order: PodOrder) -> DockerPod:
        """The container of an order, not yet created.

        Raises:
            StartFailed: it was not prepared, or no engine answers.
        """
        image_id = self._images.id_of(order)
        if image_id is None:
            raise StartFailed("the image of this pod is not prepared", reason="no_image")
        ways = Ways(self._networks, self._outlets)
        return DockerPod(self._engine, self._engine_facts(), order, image_id, self._owner, ways)

    def reap(self, *, now: float, alive: Collection[str] = ()) -> tuple[str, ...]:
        """Remove containers of ours whose time is over or whose worker is dead."""
        client = self._engine.client()
        gone: list[str] = []
        for container in client.containers(all=True, filters={"label": f"{LABEL}attempt"}):
            labels = container["Labels"]
            attempt = labels[f"{LABEL}attempt"]
            orphan = owner.dead(labels.get(f"{LABEL}owner", ""), one_machine=self._engine.local)
            if attempt not in alive and (expired(labels, now) or orphan):
                remove(client, container["Id"])
                gone.append(attempt)
        return tuple(gone)

    def facts(self) -> dict[str, str | int | float | bool | None]:
        """What this engine is, and what it cannot do."""
        facts = self._engine_facts()
        return {
            "runtime": self.name,
            "engine": facts.version,
            "api": facts.api_version,
            "storage_driver": facts.storage_driver,
            "backing_filesystem": facts.backing_filesystem,
            "cgroup_version": facts.cgroup_version,
            "cgroup_driver": facts.cgroup_driver,
            "container_runtime": facts.runtime,
            "rootless": facts.rootless,
            "local": self._engine.local,
            "cores": facts.cores,
            "memory_bytes": facts.memory_bytes,
            "enforces_memory": facts.memory_limit,
            "enforces_swap": facts.swap_limit,
            "enforces_pids": facts.pids_limit,
            "enforces_storage": "by watching the container's layer" if self._engine.local else None,
            "network_allowlist": self._engine.local and not why_no_outlets(),
            "multi_container": False,
        }

    def close(self) -> None:
        """End the server that containers find at this node, and every outlet."""
        self._networks.peer.close()
        self._outlets.close()

    def _engine_facts(self) -> EngineFacts:
        if self._facts is None:
            self._facts = self._engine.facts()
        return self._facts
