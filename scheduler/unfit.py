"""Nodes that are heard of but on which nothing comes off: passed over for a while.

One that begins nothing of what it is sent, or whose disk is full, ends trials faster than others
run them, and would draw all of them to itself.
"""

from collections import Counter
from dataclasses import dataclass, field

MISSES = 3  # in a row
PASSED_OVER_S = 30.0


@dataclass(slots=True)
class Unfit:
    """What came off on each node lately. Times are of any one clock, seconds."""

    _missed: Counter[str] = field(default_factory=Counter)
    _until: dict[str, float] = field(default_factory=dict)

    def missed(self, node: str, now: float) -> None:
        """Something did not come off, for a reason that is the node's."""
        self._missed[node] += 1
        if self._missed[node] >= MISSES:
            self._until[node] = now + PASSED_OVER_S
            self._missed[node] = 0

    def came_off(self, node: str) -> None:
        """Something did."""
        self._missed.pop(node, None)
        self._until.pop(node, None)

    def passes_over(self, node: str, now: float) -> bool:
        """Whether the node is to get nothing now."""
        return now < self._until.get(node, now)
