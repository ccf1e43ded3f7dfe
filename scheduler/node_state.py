"""A node as the queue's server has it: what it said of itself, and when it was last heard of."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..models.lease.capacity import Capacity
from ..models.lease.keys import DIALECT

FRESH_MS = 5_000  # a node that was not heard of for so long gets nothing more; less than a lease


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node as Redis has it. `silent_s` is how long ago it was heard of.

    `state` is `up`, `drain` (an operator said so, until one says `up`) or `leaving` (its worker was
    told to go).
    """

    id: str
    state: str
    total: Capacity
    free: Capacity
    silent_s: float
    hello: dict[str, Any]

    @property
    def fresh(self) -> bool:
        """Whether it was heard of lately."""
        return self.silent_s * 1000 < FRESH_MS

    @property
    def condition(self) -> str:
        """Its state, `other release` where its worker keeps leases in another way than ours; not
        heard of: `left` where it said that it goes, else `silent`."""
        if self.fresh:
            return self.state if self.understood else "other release"
        return "left" if self.state == "leaving" else "silent"

    @property
    def takes_trials(self) -> bool:
        """Whether it is to get trials now."""
        return self.state == "up" and self.fresh and self.understood

    @property
    def understood(self) -> bool:
        """Whether its worker keeps leases as we do: else all of its attempts would be lost."""
        return bool(self.hello.get("dialect", DIALECT) == DIALECT)

    @property
    def runtimes(self) -> frozenset[str] | None:
        """The kinds of pods that it offers; None where it does not tell."""
        told = self.hello.get("runtimes")
        return None if told is None else frozenset(name for name, why in told.items() if not why)


def node_state(node: str, fields: Mapping[str, str], silent_s: float) -> NodeState:
    """A node from its hash.

    Args:
        silent_s: how long ago it was heard of.
    """
    return NodeState(
        id=node,
        state=fields["state"],
        total=_capacity(fields, ""),
        free=_capacity(fields, "free_"),
        silent_s=silent_s,
        hello=json.loads(fields.get("hello") or "{}"),
    )


def _capacity(fields: Mapping[str, str], prefix: str) -> Capacity:
    return Capacity(
        cpu_m=int(fields[f"{prefix}cpu"]),
        memory_bytes=int(fields[f"{prefix}memory"]),
        slots=int(fields[f"{prefix}slots"]),
    )
