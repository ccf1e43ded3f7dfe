"""How a command ends before its work does, and what its exit code says of a run."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ALL_INFRA, OUT_OF_MONEY, INTERRUPTED = 3, 8, 130


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that SIGINT or SIGTERM sets; a second SIGINT ends the process at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
