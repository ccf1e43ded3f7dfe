"""One command in a container: its output, its clock, and its end.

The engine's answer to `exec_start` is a socket with both outputs in frames. That socket alone
does not tell when the command ends: a child may hold it open, and the engine itself may keep it
for two seconds more. So the command's process is watched beside it: by its pidfd where the
engine runs on this machine, else by asking the engine.
"""

import contextlib
import io
import os
import re
import select
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import docker
from docker.errors import DockerException, NotFound

from ....models.execution import KILLED, ExecResult
from ..tail import Tail
from .frames import Frames
from .watch import Watch

RECEIVE_BYTES = 256 * 1024
DRAIN_S = 0.5  # what a command wrote before it ended arrives within this
FIRST_LOOK_S, LONGEST_LOOK_S = 0.1, 1.0
ANSWERS = 100  # times that the engine is asked for an end, over about ten seconds
NOT_FOUND = 127  # what a shell says; the engine says 126
FELL_WITH_ITS_CONTAINER = {"Running": False, "ExitCode": KILLED, "Pid": None}
MISSING = re.compile(r'exec: ".*(not found|no such file)')


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, as `Pod.exec` was asked."""

    argv: Sequence[str]
    timeout_s: float | None
    cap_bytes: int
    env: dict[str, str] = field(default_factory=dict)
    user: str = ""
    cwd: str | None = None
    stdin: bytes = b""


class Execution:
    """One command under way in one container. For one `run`.

    Args:
        watch: looked at while the command runs.
        kill: ends every process of the pod; called at the timeout.
        here: the engine's pids are this machine's.
    """

    def __init__(
        self,
        client: docker.APIClient,
        container: str,
        command: Command,
        *,
        watch: Watch,
        kill: Callable[[], object],
        here: bool,
    ) -> None:
        self._client, self._container, self._command = client, container, command
        self._watch, self._kill, self._here = watch, kill, here
        self._out, self._err = Tail(command.cap_bytes), Tail(command.cap_bytes)
        self._frames = Frames(self._out, self._err)
        self._stdin = memoryview(command.stdin)
        self._poll = select.poll()
        self._pidfd: int | None = None
        self._output: socket.socket | None = None
        self._id = ""
        self._state: dict[str, Any] = {"Running": True}
        self.started = False

    def run(self) -> ExecResult:
        """Run it to its end; `started` then says whether there was anything to run.

        Raises:
            ENGINE_ERRORS: the engine refused or vanished; whether the command ended is unknown.
        """
        command = self._command
        self._id = self._client.exec_create(
            self._container,
            list(command.argv),
            stdin=bool(command.stdin),
            environment=dict(command.env),
            user=command.user,
            workdir=command.cwd,
        )["Id"]
        started = time.monotonic()
        stream = self._client.exec_start(self._id, socket=True)
        try:
            self._open(stream)
            in_time = self._follow(started)
            ended = time.monotonic()
            self._drain(ended + DRAIN_S)
            if in_time:
                self._await_code()
        finally:
            self._close()
            # The SDK ties the HTTP response to the stream by this name; the connection is its.
            getattr(stream, "_response", stream).close()
        return self._result(in_time, ended - started)

    def _open(self, stream: Any) -> None:
        early = _read_with_the_headers(stream)
        self._output = socket.socket(fileno=os.dup(stream.fileno()))
        self._output.setblocking(False)
        self._poll.register(self._output, select.POLLIN | (select.POLLOUT if self._stdin else 0))
        self._watch.begin()
        for fd, mask in self._watch.fds():
            self._poll.register(fd, mask)
        self._frames.feed(early)

    def _close(self) -> None:
        if self._output is not None:
            self._output.close()
        if self._pidfd is not None:
            os.close(self._pidfd)

    def _follow(self, started: float) -> bool:
        """Attend to the command until it ends; False if it was cut off at its timeout."""
        timeout_s = self._command.timeout_s
        deadline = None if timeout_s is None else started + timeout_s
        look_at: float | None = started + FIRST_LOOK_S
        watch_at = started + self._watch.period_s
        while True:
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                self._cut_off()
                return False
            alarms = [t for t in (deadline, watch_at, look_at) if t is not None]
            ready = self._poll.poll(max(0.0, min(alarms) - now) * 1000)
            was_open = self._output is not None
            if self._serve(ready):
                return True
            now = time.monotonic()
            if now >= watch_at:
                self._watch.look()
                watch_at = now + self._watch.period_s
            # An output that closes is most often the end; the engine says whether it is.
            if (was_open and self._output is None) or (look_at is not None and now >= look_at):
                if not self._ask():
                    return True
                look_at = None if self._pidfd else now + _pause(now - started)

    def _cut_off(self) -> None:
        """Kill until the engine says that the command is over: it may be starting still when its
        time is up, and would join the pod behind the first blow.

        Raises:
            DockerException: it outlives them all.
        """
        for attempt in range(ANSWERS):
            self._kill()
            if not self._ask():
                return
            time.sleep(_patience(attempt))
        raise DockerException("the command outlives being killed")

    def _serve(self, ready: list[tuple[int, int]]) -> bool:
        """Attend to the descriptors that are ready; True if the command has ended."""
        for fd, _ in ready:
            if fd == self._pidfd:
                return True
            if self._output is not None and fd == self._output.fileno():
                self._write_stdin()
                self._receive()
            else:
                self._watch.look()
        return False

    def _receive(self) -> None:
        assert self._output is not None
        try:
            piece = self._output.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            piece = b""
        if piece:
            self._frames.feed(piece)
        else:
            self._poll.unregister(self._output)
            self._output.close()
            self._output = None

    def _write_stdin(self) -> None:
        if not self._stdin or self._output is None:
            return
        try:
            self._stdin = self._stdin[self._output.send(self._stdin) :]
        except BlockingIOError:
            return
        except OSError:  # the command does not read it, which is its right
            self._stdin = self._stdin[:0]
        if not self._stdin:
            self._poll.modify(self._output, select.POLLIN)
            with contextlib.suppress(OSError):
                self._output.shutdown(socket.SHUT_WR)

    def _drain(self, until: float) -> None:
        """Take what was written before the end, without waiting for a child that holds on."""
        while self._output is not None and (left_s := until - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._output, select.POLLIN)
            if poll.poll(left_s * 1000):
                self._receive()

    def _ask(self) -> bool:
        """Whether it still runs, by the engine; its answer has the pid to wait for, where pids
        are shared."""
        try:
            self._state = self._client.exec_inspect(self._id)
        except NotFound:  # the engine forgets the commands of a container that has ended
            self._state = FELL_WITH_ITS_CONTAINER
        running = bool(self._state["Running"])
        if running and self._here and self._pidfd is None and self._state["Pid"]:
            with contextlib.suppress(OSError):  # it ended meanwhile
                self._pidfd = os.pidfd_open(self._state["Pid"])
                self._poll.register(self._pidfd, select.POLLIN)
        return running

    def _await_code(self) -> None:
        """Ask until the engine knows of the end; it hears of it a little after the kernel tells.

        Raises:
            DockerException: it does not say within about ten seconds.
        """
        for attempt in range(ANSWERS):
            if not self._state["Running"] and self._state["ExitCode"] is not None:
                return
            if attempt:
                time.sleep(_patience(attempt))
            self._ask()
        raise DockerException("the command has ended, but the engine does not say how")

    def _result(self, in_time: bool, wall_s: float) -> ExecResult:
        out, err = self._out.stream(), self._err.stream()
        code = self._state["ExitCode"] if in_time else None
        self.started = not in_time or self._state["Pid"] != 0
        if not self.started:
            # What came on stdout are the engine's words and not the command's.
            out, err = err, out
            code = NOT_FOUND if MISSING.search(err.tail) else code
        return ExecResult(
            exit_code=code, timed_out=not in_time, wall_s=wall_s, stdout=out, stderr=err
        )


def _patience(attempt: int) -> float:
    return min(0.001 * 2.0**attempt, 0.1)


def _pause(elapsed_s: float) -> float:
    """How long until the engine is asked again: a tenth of the time spent, a second at most."""
    return min(max(elapsed_s / 10, FIRST_LOOK_S), LONGEST_LOOK_S)


def _read_with_the_headers(stream: Any) -> bytes:
    """Output that the HTTP layer took in while it was reading the headers.

    The SDK hands out the bare socket below a buffered reader. When this thread was held up while
    the command was quick, its first output is in that buffer and nobody would ever read it.
    """
    response, connection = getattr(stream, "_response", None), getattr(stream, "_sock", None)
    reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    if connection is None or not isinstance(reader, io.BufferedReader):
        return b""
    connection.settimeout(0)  # look, do not wait
    return reader.peek()
