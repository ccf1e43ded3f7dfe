"""Namespaces of a pod: its own processes, file tree, IPC, and, if asked, network.

`Launcher` is the worker's end of `launcher.py`; `Enclosure` is one pod's set of namespaces, held
open by its PID 1. PID 1 is outside the pod's cgroup: it is ours, its memory is not the task's.
"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from io import FileIO
from pathlib import Path

from ....models.errors import StartFailed
from . import launcher
from .launcher import Request

# What Docker leaves to root in a container, less mknod, raw sockets and audit. Without sys_admin
# nothing that is read-only can be made writable, and a debugger cannot be put on PID 1.
CAPABILITIES = (
    *("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap"),
    *("net_bind_service", "sys_chroot", "setfcap"),
)
BOUNDING_SET = ",".join(("-all", *(f"+{name}" for name in CAPABILITIES)))
NEEDED = ("LD_LIBRARY_PATH",)  # of our environment, by some builds of Python to start at all
DEATH_TIMEOUT_S = 10.0
FIRST_ID, IDS = 1_900_000_000, 65_536  # above what systemd gives to containers, below 2**31


def id_map(euid: int, egid: int, uid_map: str) -> tuple[int, int, int]:
    """Who a pod's root is outside: (first uid, first gid, how many ids there are).

    Real root lends a range of ids that own nothing on the host; anyone else can only be itself.

    Args:
        uid_map: the text of our own /proc/self/uid_map.

    >>> id_map(0, 0, "0 0 4294967295")
    (1900000000, 1900000000, 65536)
    >>> id_map(1000, 100, "0 0 4294967295")
    (1000, 100, 1)
    """
    if euid == 0 and uid_map.split() == ["0", "0", "4294967295"]:
        return FIRST_ID, FIRST_ID, IDS
    return euid, egid, 1


class Enclosure:
    """The namespaces of one pod. They live until `kill`, or until this worker dies.

    `network` says that the host's is shared, `users` that there are more ids inside than root.
    """

    def __init__(self, lifeline: socket.socket, pid: int, *, network: bool, users: bool) -> None:
        self.pid = pid
        self._users = users
        self._lifeline = lifeline
        self._pidfd = os.pidfd_open(pid)
        self._network = network
        self._lock = threading.Lock()

    def enter(self, user: tuple[int, int] | None, cwd: str | None) -> tuple[str, ...]:
        """The words to put before a command so that it runs inside.

        Args:
            user: (uid, gid) inside, None for root.
            cwd: an absolute path inside, None for PID 1's own.
        """
        spaces: tuple[str, ...] = (
            "--user",
            "--mount",
            "--ipc",
            "--pid",
            *(() if self._network else ("--net",)),
        )
        if not self._users:  # there is one user, whom we are already
            spaces += ("--preserve-credentials",)
        drop: tuple[str, ...] = (
            "--bounding-set",
            BOUNDING_SET,
            "--inh-caps=-all",
            "--no-new-privs",
        )
        if user is not None:
            drop += (f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups")
        go = ("sh", "-c", 'cd "$0" && exec "$@"', cwd) if cwd else ()
        begin = ("nsenter", "-t", str(self.pid), *spaces, "--wd", "--")
        # A session of its own inside: `kill 0` must not reach the nsenter that waits outside.
        return (*begin, "setpriv", *drop, "--", "setsid", "--", *go)

    def alive(self) -> bool:
        """Whether PID 1 still runs."""
        with self._lock:
            return not self._dead_within(0.0)

    def net_dev(self) -> str | None:
        """The text of net/dev in the pod's own network; None when it shares the host's."""
        if self._network:
            return None
        try:
            return Path(f"/proc/{self.pid}/net/dev").read_text()
        except OSError:
            return None

    def kill(self) -> None:
        """Kill PID 1, and with it everything inside; back when it is dead. Safe to call twice."""
        with self._lock:
            if self._pidfd < 0:
                return
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self._dead_within(DEATH_TIMEOUT_S)
            os.close(self._pidfd)
            self._lifeline.close()
            self._pidfd = -1

    def _dead_within(self, timeout_s: float) -> bool:
        if self._pidfd < 0:
            return True
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))


class Launcher:
    """The worker's one launcher process; started at the first pod, safe from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def open(self, request: Request, timeout_s: float) -> Enclosure:
        """Make an enclosure.

        Raises:
            StartFailed: the kernel would not, with its reason, or not in time.
        """
        ours, theirs = socket.socketpair()
        theirs.setblocking(True)  # a default timeout in this process would end PID 1 at its read
        told, telling = os.pipe()
        try:
            self._send(json.dumps(request).encode(), (theirs.fileno(), telling))
        finally:
            theirs.close()
            os.close(telling)
        try:
            with os.fdopen(told, "rb", buffering=0) as report:
                pid = _await_ready(report, time.monotonic() + timeout_s)
            return Enclosure(ours, pid, network=request["network"], users=request["ids"][2] > 1)
        except (StartFailed, OSError) as problem:
            ours.close()
            raise StartFailed(f"no enclosure for the pod: {problem}") from problem

    def close(self) -> None:
        """End the launcher; enclosures that are open stay."""
        with self._lock:
            self._close()

    def _send(self, message: bytes, descriptors: tuple[int, int]) -> None:
        with self._lock:
            for fresh in (False, True):
                control = self._running(fresh)
                try:
                    socket.send_fds(control, [message], descriptors)
                    return
                except (BrokenPipeError, ConnectionResetError):
                    continue
        raise StartFailed("the pod launcher ends as soon as it is started")

    def _running(self, fresh: bool) -> socket.socket:
        # A forked worker must not share its parent's: each would hold the other's pods.
        if self._control is None or fresh or self._owner != os.getpid():
            self._close()
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", launcher.__file__],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    env={name: os.environ[name] for name in NEEDED if name in os.environ},
                    cwd="/",
                )
            self._owner = os.getpid()
        return self._control

    def _close(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None and self._owner == os.getpid():
            self._process.wait()
        self._control = self._process = None


def _await_ready(report: FileIO, deadline: float) -> int:
    """PID 1's pid, once the report has ended without an error."""
    said = b""
    poll = select.poll()
    poll.register(report, select.POLLIN)
    while poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        heard = report.read(4096)
        if heard:
            said += heard
            continue
        lines = said.decode(errors="replace").splitlines()
        pids = [int(line.removeprefix("pid ")) for line in lines if line.startswith("pid ")]
        errors = [line for line in lines if line.startswith("error ")]
        if errors or not pids:
            raise StartFailed("; ".join(errors) or "its launcher died without a word")
        return pids[0]
    raise StartFailed("PID 1 was not ready in time")
