"""Pods that are ordinary processes of this machine: in a cgroup, in namespaces of their own.

A pod is a private file tree, an `Enclosure` (namespaces, where the kernel allows them), and a
`Group` (limits and counters). Where there is no enclosure only relocatable tasks run: they find
their files below `INFRANOISE_ROOT`, and nothing but the operating system's users protects the
machine from them.
"""

import contextlib
import threading
from collections.abc import Collection
from pathlib import Path

from ....models.egress import Egress
from ....models.errors import Refused
from ....models.link import Network
from ...network import egress
from ...network.peer import Peer
from ...outlet.outlets import Outlets
from ...outlet.refusing import refuse_outlet
from ..pod import LINKED, WATCHED, PodOrder
from . import residue, template
from .ground import Ground
from .plain_files import REMEDY
from .pod import ProcessPod


class ProcessPods:
    """Process pods on this machine.

    Args:
        state: a folder of ours for the trees of pods; on a disk, since a tmpfs would count its
            pages as the pods' memory.
        ground: what this machine offers; None looks it up at the first need.
        outlets: the ways out of pods that are watched over; None makes its own.
    """

    name = "process"

    def __init__(
        self, state: Path, ground: Ground | None = None, outlets: Outlets | None = None
    ) -> None:
        self.state = state
        self._ground = ground
        self._lock = threading.Lock()
        self._peer, self._outlets = Peer(), outlets or Outlets()

    @property
    def ground(self) -> Ground:
        """What this machine offers; looked up once."""
        with self._lock:
            if self._ground is None:
                self._ground = Ground.survey(self.state)
            return self._ground

    def refuse(self, order: PodOrder) -> str | None:
        """As `Pods.refuse` says."""
        if order.network in WATCHED and (why := refuse_outlet(order.allow)):
            return why
        if why := self.refuse_link(order.network, order.egress_mbps):
            return why
        if problem := template.refusal(order.environment, order.image):
            return problem
        if not self.ground.enclosed and not order.relocatable:
            return (
                f"the task needs a file tree of its own, and there are no namespaces here "
                f"({self.ground.unenclosed_because}); {REMEDY}"
            )
        return None

    def refuse_link(self, network: Network, egress_mbps: Egress | None) -> str | None:
        """As `Pods.refuse_link` says."""
        linked, ours = network in LINKED, network in LINKED | WATCHED
        if network in WATCHED and (why := refuse_outlet(())):
            return why
        if why := egress.no_cap(network, egress_mbps, linked=ours):
            return why
        if linked and (why := egress.no_link()):
            return why
        if network != "public" and not self.ground.enclosed:
            why = self.ground.unenclosed_because
            return f"there are no network namespaces here ({why}); {REMEDY}"
        return None

    def prepare(self, order: PodOrder) -> str:
        """As `Pods.prepare` says."""
        if reason := self.refuse(order):
            raise Refused(reason)
        return template.build(self.state, order.environment, order.environment_hash).id

    def pod(self, order: PodOrder) -> ProcessPod:
        """As `Pods.pod` says; ImageBuildFailed when it was not prepared."""
        made_from = template.load(self.state, order.environment_hash)
        return ProcessPod(order, made_from, self.ground, self._peer, self._outlets)

    def reap(self, *, now: float, alive: Collection[str] = ()) -> tuple[str, ...]:
        """As `Pods.reap` says."""
        removed: list[str] = []
        for folder, noted in residue.read_all(self.state / "pods"):
            if residue.is_abandoned(noted, now=now, alive=alive):
                with contextlib.suppress(OSError):  # another worker reaps at the same time
                    residue.clear(folder, noted)
                    removed.append(noted.attempt_id)
        residue.sweep(self.state / "pods", now=now)
        return tuple(removed)

    def facts(self) -> dict[str, str | int | float | bool | None]:
        """As `Pods.facts` says."""
        return self.ground.facts()

    def close(self) -> None:
        """End the launcher process, the links' server and every outlet."""
        self._peer.close()
        self._outlets.close()
        if self._ground is not None:
            self._ground.launcher.close()
