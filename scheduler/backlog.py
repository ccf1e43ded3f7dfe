"""Which of the owed trials may start now: pure."""

from collections import deque
from collections.abc import Mapping

from ..models.ledger.attempts import Owed


def due(
    backlog: deque[Owed], running: Mapping[str, int], concurrency: Mapping[int, int], slots: int
) -> list[Owed]:
    """Take from the front of the backlog what may start beside what runs.

    Trials start in the order of the plan. A wave's concurrency is a condition of every trial in
    it: a trial waits until nothing runs whose wave asks for another number.

    Args:
        backlog: owed trials in order of dispatch; what is returned is removed.
        running: wave of each trial under way.
        concurrency: trials in flight that a wave asks for; waves that ask nothing are left out.
        slots: how many the node has.
    """
    taken: list[Owed] = []
    levels = {concurrency.get(wave, slots) for wave in running.values()}
    while backlog:
        level = concurrency.get(backlog[0].wave, slots)
        if levels - {level} or len(running) + len(taken) >= min(level, slots):
            break
        levels = {level}
        taken.append(backlog.popleft())
    return taken
