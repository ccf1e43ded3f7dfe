"""One request of a client and the way back to it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

WITHOUT_BODY = frozenset({204, 304})
REASONS = {status.value: status.phrase for status in HTTPStatus}
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(slots=True, eq=False)
class Exchange:
    """A request that came whole (header names in lower case), and what goes back.

    `hold` is called with whether the client takes no more for now. `whole` turns true when the
    answer has been handed on to its end.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    transport: asyncio.Transport
    keep_alive: bool = True
    old: bool = False
    hold: Callable[[bool], None] | None = None
    begun: bool = False
    whole: bool = False
    _chunked: bool = field(default=False, init=False)
    _head: bytes = field(default=b"", init=False)

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Answer in one piece."""
        self.begin(status, {**headers, "content-length": str(len(body))})
        if body and self.method != "HEAD":
            self.write(body)
        self.finish()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin an answer; it goes out with its first piece, or with `flush`.

        Args:
            headers: of the answer; without `content-length` it goes in chunks.
        """
        sized = "content-length" in headers or status in WITHOUT_BODY
        self._chunked = not sized and not self.old
        self.keep_alive &= sized or self._chunked
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, '')}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if self._chunked:
            lines.append("transfer-encoding: chunked")
        if not self.keep_alive:
            lines.append("connection: close")
        self._head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.begun = True

    def write(self, piece: bytes) -> None:
        """Hand on some of the body."""
        framed = b"%x\r\n%b\r\n" % (len(piece), piece) if self._chunked else piece
        if self._head:
            framed, self._head = self._head + framed, b""
        self.transport.write(framed)

    def flush(self) -> None:
        """Let the head go, if it has not yet."""
        if self._head:
            self.transport.write(self._head)
            self._head = b""

    def finish(self) -> None:
        """The answer is whole."""
        end = self._head + (LAST_CHUNK if self._chunked else b"")
        self._head = b""
        if end:
            self.transport.write(end)
        self.whole = True

    def abort(self) -> None:
        """Drop the connection where it stands: what is not whole must not look whole."""
        self.transport.abort()
