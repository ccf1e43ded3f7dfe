"""The nodes of a fleet as they were when last looked at; their profiles go into the ledger."""

from dataclasses import dataclass, field

from sqlalchemy import Engine

from ..models.ledger.nodes import write_node
from ..models.node import NodeProfile
from .leases import Leases
from .node_state import NodeState


@dataclass(slots=True)
class Roster:
    """The nodes that are known, by id."""

    engine: Engine
    leases: Leases
    known: dict[str, NodeState] = field(default_factory=dict)
    _profiles: dict[str, str] = field(default_factory=dict)

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
            text = node.hello.get("profile")
            if isinstance(text, str) and self._profiles.get(node.id) != text:
                self._profiles[node.id] = text
                profile = NodeProfile.model_validate_json(text)
                write_node(self.engine, node.id, profile, fence=fence)
