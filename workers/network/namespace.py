"""Doing something in the network of another process."""

import os
import threading
from collections.abc import Callable


def within[T](pid: int, call: Callable[[], T]) -> T:
    """Call in the network namespace of a process; sockets and programs of the call are there.

    The namespace belongs to a thread, so a thread of its own goes there and ends with the call.

    Raises:
        OSError: the process is gone, or its namespace may not be entered.
    """
    answers: list[T] = []
    faults: list[BaseException] = []

    def go() -> None:
        try:
            process = os.pidfd_open(pid)
            try:
                os.setns(process, os.CLONE_NEWNET)
            finally:
                os.close(process)
            answers.append(call())
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=go, name=f"in the network of {pid}")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return answers[0]
