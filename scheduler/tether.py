"""A tether: what kills a child when its parent is gone, even by SIGKILL.

A small shell waits on a pipe whose other end only the parent holds. When the parent goes, in
whatever way, the pipe ends and the shell kills the child.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

WAIT_THEN_KILL = 'read -r _; kill -9 "$1" 2>/dev/null'


@contextmanager
def tethered(child: "subprocess.Popen[bytes]") -> Iterator[None]:
    """While inside, `child` dies with this process."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", WAIT_THEN_KILL, "tether", str(child.pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.kill()
        guard.wait()
        if guard.stdin is not None:
            guard.stdin.close()
