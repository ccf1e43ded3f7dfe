"""What nodes have room for, as placement wants it: pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from ..models.lease.capacity import Capacity
from .node_state import NodeState
from .placement import Room
from .window import Window


def rooms(
    free: Mapping[str, Capacity],
    known: Mapping[str, NodeState],
    windows: Iterable[Window],
    passed_over: Callable[[str], bool],
) -> list[Room]:
    """The nodes that take trials now, with what runs on each and the concurrency in force there.

    Args:
        free: what each of them has free now.
        known: what is known of the nodes since they were last looked at; others wait for that.
        passed_over: whether a node is to get nothing for another reason.
    """
    levels: dict[str, int | None] = {}
    running: Counter[str] = Counter()
    for window in windows:
        for one in window.running.values():
            levels[one.node] = one.concurrency
            running[one.node] += 1
    return [
        Room(
            node.id,
            node.total,
            free[node.id],
            levels.get(node.id) or node.total.slots,
            running[node.id],
            node.runtimes,
            node.hello.links,
        )
        for node in known.values()
        if node.id in free and not (node.because or passed_over(node.id))
    ]
