"""Waiting for what a watch will have been told."""

import time
from collections.abc import Callable


def until(condition: Callable[[], bool]) -> None:
    """Wait until it holds; ten seconds are too long."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)
