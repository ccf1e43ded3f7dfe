"""Run one command on this machine to its end: a deadline, and bounded memory for its output."""

import errno
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from ...models.errors import PodLost
from ...models.execution import ExecResult, Stream
from .tail import Tail

CHUNK_BYTES = 1 << 18
DEATH_TIMEOUT_S = 10.0
NOT_EXECUTABLE = 126
LINGER_S = 0.5  # how long output that a surviving child holds open is waited for


def exit_code(returncode: int) -> int:
    """A Popen return code as a shell tells it: signal N is 128 + N.

    >>> exit_code(3), exit_code(-9)
    (3, 137)
    """
    return 128 - returncode if returncode < 0 else returncode


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cap_bytes: int,
    kill: Callable[[], object],
    timeout_s: float | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
) -> ExecResult:
    """Run argv once, in a session of its own.

    Args:
        kill: called at the timeout; must kill the command and all that it started.
        timeout_s: None waits for ever.
    Returns: its end. Output of children that outlive it is read for half a second more.
    Raises:
        OSError: argv[0] cannot be executed.
        PodLost: it does not die at the timeout.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        list(argv),
        env=dict(env),
        cwd=cwd,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    )
    watch = _Watch(process, stdin, cap_bytes)
    try:
        ended = watch.until_exit(None if timeout_s is None else began + timeout_s)
        if not ended:
            _end(process, watch, kill)
        wall_s = time.monotonic() - began
        watch.until_silent(time.monotonic() + LINGER_S)
    except BaseException:  # an interrupt must not leave the command behind
        _end(process, watch, kill)
        raise
    finally:
        watch.close()
    return ExecResult(
        exit_code=exit_code(process.wait()) if ended else None,
        timed_out=not ended,
        wall_s=wall_s,
        stdout=watch.stdout.stream(),
        stderr=watch.stderr.stream(),
    )


def not_begun(problem: OSError) -> ExecResult:
    """The end of a command that cannot be executed as it stands, as a shell tells it.

    Raises:
        PodLost: the fault is this machine's (no memory, no descriptors), not the command's.
    """
    if problem.errno not in (errno.E2BIG, errno.ENOENT, errno.ENOTDIR, errno.EACCES):
        reason = f"no process can be started: {problem}"
        raise PodLost(reason, reason="spawn") from problem
    told = str(problem)
    stderr = Stream(tail=told, total_bytes=len(told.encode()))
    return ExecResult(exit_code=NOT_EXECUTABLE, wall_s=0.0, stderr=stderr)


def _end(process: subprocess.Popen[bytes], watch: "_Watch", kill: Callable[[], object]) -> None:
    """Kill a command with all that it started, and see it dead."""
    kill()
    process.send_signal(signal.SIGKILL)
    if not watch.until_exit(time.monotonic() + DEATH_TIMEOUT_S):
        raise PodLost(f"process {process.pid} survives SIGKILL; the machine's disk may hang")
    process.wait()


class _Watch:
    """One selector over a process: its end (pidfd), its two outputs, its input."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, cap_bytes: int) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.stdout, self.stderr = Tail(cap_bytes), Tail(cap_bytes)
        self._selector = selectors.DefaultSelector()
        self._pidfd = os.pidfd_open(process.pid)
        self._exited = False
        self._open = {process.stdout, process.stderr}
        self._selector.register(self._pidfd, selectors.EVENT_READ, self._exit)
        for pipe, tail in ((process.stdout, self.stdout), (process.stderr, self.stderr)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, _Reader(self, pipe, tail))
        if process.stdin is not None:
            self._open.add(process.stdin)
            os.set_blocking(process.stdin.fileno(), False)
            writer = _Writer(self, process.stdin, stdin)
            self._selector.register(process.stdin, selectors.EVENT_WRITE, writer)

    def until_exit(self, deadline: float | None) -> bool:
        """Pump until the process has ended; False when the deadline came first."""
        while not self._exited:
            if not self._pump(deadline):
                return False
        return True

    def until_silent(self, deadline: float) -> None:
        """Pump until both outputs are closed at the other end, or the deadline."""
        while any(pipe.readable() for pipe in self._open) and self._pump(deadline):
            pass

    def close(self) -> None:
        """Let go of everything but the process."""
        for pipe in list(self._open):
            self.done(pipe)
        self._selector.close()
        os.close(self._pidfd)

    def done(self, pipe: IO[bytes]) -> None:
        """A pipe has come to its end."""
        self._selector.unregister(pipe)
        self._open.remove(pipe)
        pipe.close()

    def _exit(self) -> None:
        self._exited = True
        self._selector.unregister(self._pidfd)

    def _pump(self, deadline: float | None) -> bool:
        left_s = None if deadline is None else deadline - time.monotonic()
        if left_s is not None and left_s <= 0:
            return False
        for key, _ in self._selector.select(left_s):
            key.data()
        return True


class _Reader:
    def __init__(self, watch: _Watch, pipe: IO[bytes], tail: Tail) -> None:
        self._watch, self._pipe, self._tail = watch, pipe, tail

    def __call__(self) -> None:
        try:
            chunk = os.read(self._pipe.fileno(), CHUNK_BYTES)
        except BlockingIOError:
            return
        if chunk:
            self._tail.feed(chunk)
        else:
            self._watch.done(self._pipe)


class _Writer:
    def __init__(self, watch: _Watch, pipe: IO[bytes], text: bytes) -> None:
        self._watch, self._pipe, self._left = watch, pipe, memoryview(text)

    def __call__(self) -> None:
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # the command does not care for its input
            self._left = self._left[:0]
        if not self._left:
            self._watch.done(self._pipe)
