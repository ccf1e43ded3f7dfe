"""Killing every process of a group, when they fork faster than one can count."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

KILL_TIMEOUT_S = 10.0
FIRST_PAUSE_S, LAST_PAUSE_S = 0.0005, 0.05


def kill_all(members: Callable[[], Sequence[int]], freeze: Callable[[bool], None]) -> int:
    """Freeze, kill, thaw, until nobody is left; how many processes were seen.

    Frozen processes cannot fork, so a round ends with everybody dead that it saw. Where freezing
    does nothing, rounds repeat until they win; a pids limit makes sure that they do.
    """
    killed: set[int] = set()
    pause_s, deadline = FIRST_PAUSE_S, time.monotonic() + KILL_TIMEOUT_S
    while (seen := members()) and time.monotonic() < deadline:
        if fresh := set(seen) - killed:
            freeze(True)
            fresh.update(members())
            for pid in fresh:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            freeze(False)
            killed |= fresh
            continue
        time.sleep(pause_s)  # dying takes the kernel a moment, and has no event on v1
        pause_s = min(2 * pause_s, LAST_PAUSE_S)
    return len(killed)


def remove_folder(cgroup: Path) -> None:
    """Remove an emptied cgroup and those that its processes made in it; gone is fine.

    rmdir says EBUSY for a moment after the last process has ended.
    """
    pause_s, deadline = FIRST_PAUSE_S, time.monotonic() + KILL_TIMEOUT_S
    while True:
        try:
            for folder, _, _ in os.walk(cgroup, topdown=False):
                Path(folder).rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LAST_PAUSE_S)
