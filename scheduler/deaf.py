"""Nodes that are heard of but begin nothing of what they are sent: passed over for a while."""

from collections import Counter
from dataclasses import dataclass, field

MISSES = 3  # looks in a row in which a node had not begun something in time
PASSED_OVER_S = 30.0


@dataclass(slots=True)
class Deaf:
    """What each node missed since it last began something. Times are of any one clock, seconds."""

    _missed: Counter[str] = field(default_factory=Counter)
    _until: dict[str, float] = field(default_factory=dict)

    def missed(self, node: str, now: float) -> None:
        """In this look the node had not begun something in time."""
        self._missed[node] += 1
        if self._missed[node] >= MISSES:
            self._until[node] = now + PASSED_OVER_S
            self._missed[node] = 0

    def began(self, node: str) -> None:
        """Something came home from the node."""
        self._missed.pop(node, None)
        self._until.pop(node, None)

    def passes_over(self, node: str, now: float) -> bool:
        """Whether the node is to get nothing now."""
        return now < self._until.get(node, now)
