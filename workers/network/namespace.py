"""Doing something in the network of another process, or in one of nobody's."""

import os
import threading
from collections.abc import Callable
from functools import partial

OWN = "/proc/thread-self/ns/net"


def within[T](pid: int, call: Callable[[], T]) -> T:
    """Call in the network namespace of a process; sockets and programs of the call are there.

    Raises:
        OSError: the process is gone, or its namespace may not be entered.
    """
    return _aside(partial(_enter_process, pid), call, f"in the network of {pid}")


def inside[T](namespace: int, call: Callable[[], T]) -> T:
    """The same in a namespace that a descriptor stands for; raises as `within`."""
    enter = partial(os.setns, namespace, os.CLONE_NEWNET)
    return _aside(enter, call, f"in network namespace {namespace}")


def at[T](namespace: int | None, call: Callable[[], T]) -> T:
    """The same, or where None stands for this one, a plain call; raises as `within`."""
    return call() if namespace is None else inside(namespace, call)


def fresh() -> int:
    """A descriptor of a new network namespace, which ends with the last that stands for it.

    Raises:
        OSError: it may not be made.
    """
    return _aside(
        partial(os.unshare, os.CLONE_NEWNET),
        lambda: os.open(OWN, os.O_RDONLY | os.O_CLOEXEC),
        "making a network namespace",
    )


def _enter_process(pid: int) -> None:
    process = os.pidfd_open(pid)
    try:
        os.setns(process, os.CLONE_NEWNET)
    finally:
        os.close(process)


def _aside[T](enter: Callable[[], None], call: Callable[[], T], name: str) -> T:
    """Enter and call in a thread of its own: a namespace belongs to a thread, and ends with it."""
    answers: list[T] = []
    faults: list[BaseException] = []

    def go() -> None:
        try:
            enter()
            answers.append(call())
        except BaseException as fault:
            faults.append(fault)

    thread = threading.Thread(target=go, name=name)
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return answers[0]
