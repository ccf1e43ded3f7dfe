"""A node as the queue's server has it: what it said of itself, and when it was last heard of."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.lease.capacity import Capacity
from ..models.lease.keys import DIALECT
from .hello import Hello, read_hello

FRESH_MS = 5_000  # a node that was not heard of for so long gets nothing more; less than a lease
NOTHING = Capacity(cpu_m=0, memory_bytes=0, slots=0)
ONE_RELEASE = "run one release of infranoise on scheduler and workers"


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
    hello: Hello

    @property
    def fresh(self) -> bool:
        """Whether it was heard of lately."""
        return self.silent_s * 1000 < FRESH_MS

    @property
    def condition(self) -> str:
        """Its state; `unreadable` or `other release` where `because` says why nothing is sent to
        it; not heard of: `left` where it said that it goes, else `silent`."""
        if self.fresh and self.because:
            return "unreadable" if self.hello.unread else "other release"
        if self.fresh:
            return self.state
        return "left" if self.state == "leaving" else "silent"

    @property
    def takes_trials(self) -> bool:
        """Whether it is to get trials now."""
        return self.condition == "up"

    @property
    def because(self) -> str:
        """Why this release can make nothing of it, with the remedy; "" where it can.

        A worker that keeps leases in another way would lose all of its attempts.
        """
        theirs = f"its worker is infranoise {self.hello.version}"
        if self.hello.unread:
            return f"{theirs}, and cannot be read ({self.hello.unread}); {ONE_RELEASE}"
        if self.hello.dialect != DIALECT:
            return f"{theirs}, which keeps leases in another way; {ONE_RELEASE}"
        return ""

    @property
    def runtimes(self) -> frozenset[str] | None:
        """The kinds of pods that it offers; None where it does not tell."""
        told = self.hello.runtimes
        return None if told is None else frozenset(name for name, why in told.items() if not why)


def node_state(node: str, fields: Mapping[str, str], silent_s: float) -> NodeState:
    """A node from its hash; one that cannot be read is told as that.

    Args:
        silent_s: how long ago it was heard of.
    """
    hello = read_hello(fields.get("hello") or "{}")
    try:
        total, free = _capacity(fields, ""), _capacity(fields, "free_")
        return NodeState(node, fields["state"], total, free, silent_s, hello)
    except (KeyError, ValueError) as error:
        why = f"{error!r} among what it can hold"
        unread = hello.model_copy(update={"unread": hello.unread or why})
        return NodeState(node, fields.get("state", "up"), NOTHING, NOTHING, silent_s, unread)


def _capacity(fields: Mapping[str, str], prefix: str) -> Capacity:
    return Capacity(
        cpu_m=int(fields[f"{prefix}cpu"]),
        memory_bytes=int(fields[f"{prefix}memory"]),
        slots=int(fields[f"{prefix}slots"]),
    )
