"""One command in a pod: its output between marks, its end told by the command's own shell.

The connection alone does not tell of the end: a child that holds the output holds it open. So the
shell round the command prints a mark and the exit code on both outputs when the command has ended.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....models.execution import ExecResult
from ..tail import Tail
from . import scripts
from .api import Api, ApiAway, ApiRefused
from .channel import ERROR, STDERR, STDOUT, Channel, Ending, ending

HANDSHAKES, HANDSHAKE_PAUSE_S = 6, 0.2
PLAIN_S, PLAIN_BYTES = 60.0, 4 << 20  # what a script of ours may take and print
CLOSES_WITHIN_S = 1.0  # after the shell's last word, what still comes is its children's


@dataclass(frozen=True, slots=True)
class Place:
    """A container of a pod, as the API names it."""

    path: str
    container: str = "main"


class Script(NamedTuple):
    """A shell script and what its command reads."""

    text: str
    mark: str
    stdin: bytes = b""


@dataclass(slots=True)
class Heard:
    """What one connection has told. `code` is the shell's own word, `ended` the error channel's."""

    began_at: float | None = None
    code: int | None = None
    ended: Ending | None = None
    timed_out: bool = False


def mark() -> str:
    """A word that no command can know."""
    return secrets.token_hex(12)


def open_channel(api: Api, place: Place, argv: list[str]) -> Channel:
    """Connect, and try again where it may help: until a script is sent nothing has begun.

    Raises:
        ApiRefused, ApiAway
    """
    for attempt in range(HANDSHAKES):
        try:
            return Channel(api, place.path, place.container, argv)
        except ApiRefused as refusal:
            if not refusal.passing or attempt == HANDSHAKES - 1:
                raise
        except ApiAway:
            if attempt == HANDSHAKES - 1:
                raise
        time.sleep(HANDSHAKE_PAUSE_S * 2**attempt)
    raise AssertionError("the last handshake returns or raises")


class Execution:
    """One script under way in one container.

    Args:
        kill: ends every process of the pod but its PID 1; called at the timeout.
        ended: whether the pod has come to its end, as far as is known; asked once a second.
    """

    def __init__(
        self, api: Api, place: Place, *, kill: Callable[[], object], ended: Callable[[], bool]
    ) -> None:
        self._api, self._place, self._kill, self._ended = api, place, kill, ended
        self.heard = Heard()

    def run(
        self,
        argv: Sequence[str],
        *,
        cap_bytes: int,
        timeout_s: float | None,
        env: Mapping[str, str],
        user: str | None,
        cwd: str | None,
        stdin: bytes,
    ) -> ExecResult:
        """Run one command to its end, as `Pod.exec` says.

        Raises:
            ApiRefused, ApiAway: the way to the pod was lost; `heard` says how far it came.
        """
        word = mark()
        text = scripts.command(argv, mark=word, stdin_bytes=len(stdin), env=env, user=user, cwd=cwd)
        out, err = Tail(cap_bytes), Tail(cap_bytes)
        called = time.monotonic()
        for channel, content in self.output(Script(text, word, stdin), timeout_s):
            (out if channel == STDOUT else err).feed(content)
        began = self.heard.began_at or called
        return ExecResult(
            exit_code=None if self.heard.timed_out else self.code(),
            timed_out=self.heard.timed_out,
            wall_s=time.monotonic() - began,
            stdout=out.stream(),
            stderr=err.stream(),
        )

    def code(self) -> int | None:
        """The exit code: the shell's own word, else what the error channel said."""
        if self.heard.code is not None:
            return self.heard.code
        return self.heard.ended.exit_code if self.heard.ended else None

    def output(self, script: Script, timeout_s: float | None = None) -> Iterator[tuple[int, bytes]]:
        """Run a script; its output, channel by channel, without the marks.

        Raises:
            ApiRefused, ApiAway
        """
        channel = open_channel(self._api, self._place, ["sh", "-c", scripts.RUNNER])
        try:
            text = script.text.encode()
            channel.send(b"%d\n%s%s" % (len(text), text, script.stdin))
            yield from self._follow(channel, script.mark.encode(), timeout_s)
        finally:
            channel.close()

    def plain(self, text: str) -> Iterator[tuple[int, bytes]]:
        """Run a script of ours that is its own argument and tells of its end by ending.

        Raises:
            ApiRefused, ApiAway: or it told too much, or for too long; the shell is the pod's own.
        """
        channel = open_channel(self._api, self._place, ["sh", "-c", text])
        ends, left = time.monotonic() + PLAIN_S, PLAIN_BYTES
        try:
            for piece in channel.pieces(lambda: 1.0):
                left -= len(piece.content) if piece else 0
                if left < 0 or time.monotonic() > ends:
                    raise ApiAway(
                        f"a script came to no end in {PLAIN_S:g} s and {PLAIN_BYTES} bytes"
                    )
                if piece is None and self._ended():
                    return
                if piece is not None and piece.channel == ERROR:
                    self.heard.ended = ending(piece.content)
                elif piece is not None:
                    yield piece.channel, piece.content
        finally:
            channel.close()

    def _follow(
        self, channel: Channel, word: bytes, timeout_s: float | None
    ) -> Iterator[tuple[int, bytes]]:
        streams = {STDOUT: _Marked(word), STDERR: _Marked(word)}
        called = time.monotonic()
        last: float | None = None

        def patience_s() -> float:
            since = self.heard.began_at or called
            return 1.0 if timeout_s is None else since + timeout_s - time.monotonic()

        for piece in channel.pieces(patience_s):
            now = time.monotonic()
            if piece is not None and piece.channel == ERROR:
                self.heard.ended = ending(piece.content)
            elif piece is not None and piece.channel in streams:
                stream = streams[piece.channel]
                if content := stream.take(piece.content):
                    yield piece.channel, content
                if stream.begun and self.heard.began_at is None:
                    self.heard.began_at = now
                self._note(stream)
            if all(stream.over for stream in streams.values()):
                return
            if self.heard.code is not None:
                last = last or now + CLOSES_WITHIN_S
            if (last is not None and now > last) or (piece is None and self._ended()):
                return
            if timeout_s is not None and now - (self.heard.began_at or called) >= timeout_s:
                self.heard.timed_out = True
                self._kill()
                return

    def _note(self, stream: "_Marked") -> None:
        if stream.code is not None:
            self.heard.code = stream.code


class _Marked:
    """One output, with the shell's marks taken out of it."""

    def __init__(self, word: bytes) -> None:
        self._begin, self._end = b"\0" + word + b"<", b"\0" + word + b">"
        self._held = b""
        self.begun, self.over = False, False
        self.code: int | None = None

    def take(self, content: bytes) -> bytes:
        """The next piece; what may be part of a mark is held back."""
        if self.over:
            return b""
        text = self._held + content
        self._held = b""
        if self._begin in text:
            text, self.begun = text.replace(self._begin, b"", 1), True
        plain, mark, rest = text.partition(self._end)
        if mark:
            number, newline, _ = rest.partition(b"\n")
            if newline:
                self.code, self.over = int(number), True
            else:
                self._held = mark + rest
            return plain
        start = text.rfind(b"\0", -len(self._end) - 1)
        if start >= 0 and (
            self._end.startswith(text[start:]) or self._begin.startswith(text[start:])
        ):
            self._held, text = text[start:], text[:start]
        return text
