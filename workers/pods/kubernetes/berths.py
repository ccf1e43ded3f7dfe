"""Numbers for pods, so that no node holds more than so many.

A pod keeps away from nodes that hold a pod of its own number; so a node holds one of each at most.
Numbers are given out evenly, so that no number is short of nodes while another has some left.
"""

import threading
from collections import Counter


class Berths:
    """The numbers in use. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[tuple[int, int]] = Counter()

    def take(self, most: int | None) -> int | None:
        """The least used number below `most`; None where pods are not counted."""
        if most is None:
            return None
        with self._lock:
            number = min(range(most), key=lambda number: self._taken[most, number])
            self._taken[most, number] += 1
            return number

    def give_back(self, most: int | None, number: int | None) -> None:
        """A pod with that number is gone."""
        if most is not None and number is not None:
            with self._lock:
                self._taken[most, number] -= 1
