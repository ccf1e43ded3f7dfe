"""What nodes have room for, as placement wants it: pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from .leases import NodeState
from .placement import Room
from .window import Window


def rooms(
    nodes: Sequence[NodeState], windows: Iterable[Window], passed_over: Callable[[str], bool]
) -> list[Room]:
    """The nodes that take trials now, with what runs on each and the concurrency in force there.

    Args:
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
            node.free,
            levels.get(node.id) or node.total.slots,
            running[node.id],
            node.runtimes,
        )
        for node in nodes
        if node.takes_trials and not passed_over(node.id)
    ]
