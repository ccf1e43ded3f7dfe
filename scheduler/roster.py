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
    _told: dict[str, tuple[NodeProfile, Probe | None]] = field(default_factory=dict)

    @property
    def conditions(self) -> dict[str, tuple[str, str]]:
        """The condition of each, and why nothing is sent to it, where this release cannot tell."""
        return {node.id: (node.condition, node.because) for node in self.known.values()}

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
        """Keep what a node tells of itself, where it is new and can be read."""
        profile, probe = node.hello.profile, node.hello.probe
        if profile is None or node.because or self._told.get(node.id) == (profile, probe):
            return
        write_node(self.engine, node.id, profile, fence=fence)
        if probe is not None:
            write_probe(self.engine, node.id, probe, fence=fence)
        self._told[node.id] = (profile, probe)
