"""The nodes of a fleet as last looked at; their profiles and probes go into the ledger."""

from dataclasses import dataclass, field

from sqlalchemy import Engine

from ..models.ledger.nodes import write_node, write_probe
from ..models.node import NodeProfile
from ..models.probe import Probe
from .leases import Leases
from .node_state import NodeState


@dataclass(slots=True)
class Roster:
    """The nodes that are known, by id."""

    engine: Engine
    leases: Leases
    known: dict[str, NodeState] = field(default_factory=dict)
    _told: dict[str, tuple[str, object]] = field(default_factory=dict)

    @property
    def conditions(self) -> dict[str, str]:
        """The condition of each."""
        return {node.id: node.condition for node in self.known.values()}

    def look(self, fence: int | None) -> None:
        """See who is there. What silent nodes were sent and have not begun, they never will.

        Args:
            fence: the lead under which profiles are written.
        Raises:
            BrokerError: the queue server went away. Deposed: another scheduler leads.
        """
        self.known = {node.id: node for node in self.leases.nodes()}
        self.leases.despair_of([node.id for node in self.known.values() if not node.fresh])
        for node in self.known.values():
            self._write_down(node, fence)

    def _write_down(self, node: NodeState, fence: int | None) -> None:
        """Keep what a node tells of itself, where it is new."""
        profile, probe = node.hello.get("profile"), node.hello.get("probe")
        if not isinstance(profile, str) or self._told.get(node.id) == (profile, probe):
            return
        known = NodeProfile.model_validate_json(profile)
        write_node(self.engine, node.id, known, fence=fence)
        if probe is not None:
            speed = Probe.model_validate(probe)
            write_probe(self.engine, node.id, speed, fence=fence)
        self._told[node.id] = (profile, probe)
