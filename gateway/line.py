"""One connection to a provider: a request up, its answer down piece by piece as it comes.

Pieces are handed on from within the event loop's own call, without a task to wake for each: a
stream has hundreds, and that is what a gateway's CPU goes into.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

type Take = Callable[[bytes], None]
How = Literal["unreachable", "silent", "cut", "malformed"]
LARGEST_HEAD_BYTES = 256 << 10


class Broken(Exception):
    """An answer that cannot be had whole; `how` is the ending of its call."""

    def __init__(self, how: How, words: str) -> None:
        self.how: How = how
        super().__init__(words)


class Line(asyncio.Protocol):
    """A connection that carries one request at a time.

    `status` and `headers` (names in lower case) are those of the answer that is under way.
    `idle_since` is the loop's time at which it was last free.
    """

    def __init__(self) -> None:
        self.status, self.headers = 0, dict[str, str]()
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._reset()

    def _reset(self) -> None:
        self._head: asyncio.Future[None] | None = None
        self._end: asyncio.Future[None] | None = None
        self._take: Take | None = None
        self._parts: list[bytes] = []
        self.on_body: Take = self._parts.append  # told by the parser, as what stands below
        self._head_bytes = self._mine = 0
        self._headed = self._complete = self._extra = self._held = False
        self._news = True  # of head or end, beside the body
        self._silence: asyncio.TimerHandle | None = None

    @property
    def usable(self) -> bool:
        """Whether another request may go over it."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes, silence_s: float) -> None:
        """Send a request and wait for the head of its answer.

        Args:
            silence_s: how long nothing may be heard, now and until the answer's end.
        Raises:
            Broken
        """
        if self._transport is None:
            raise Broken("cut", "ConnectionResetError")
        self._reset()
        self._parser = HttpResponseParser(self)
        self._head, self._end = self._loop.create_future(), self._loop.create_future()
        self._silence_s, self._heard = silence_s, self._loop.time()
        self._silence = self._loop.call_later(silence_s, self._listen)
        self._transport.write(request)
        await self._head

    def pour(self, take: Take) -> "asyncio.Future[None]":
        """Hand on what has come of the answer's body, and the rest as it comes.

        Returns:  done at the answer's end, or with `Broken`.
        """
        assert self._end is not None, "an answer comes after its request"
        self._take = take
        self._hand_on()
        if self._end.done():
            self._take = None
        return self._end

    async def read(self, most_bytes: int) -> bytes:
        """The body in one piece, or its first `most_bytes`.

        Raises:
            Broken
        """
        parts, room = list[bytes](), most_bytes

        def take(piece: bytes) -> None:
            nonlocal room
            parts.append(piece[:room])
            room -= len(parts[-1])
            if len(parts[-1]) < len(piece):
                self._finish(None)  # the rest is nobody's
                self.close()

        await self.pour(take)
        return b"".join(parts)

    def hold(self, on: bool) -> None:
        """Read no more for now, or go on."""
        changed = on != self._held
        self._held, self._heard = on, self._loop.time()
        if not changed or self._transport is None or self._transport.is_closing():
            return
        if on:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self) -> None:
        """Drop the connection."""
        if self._silence is not None:
            self._silence.cancel()
        if self._transport is not None:
            self._transport.abort()

    def leave(self) -> None:
        """Drop the connection, and what it remembers of its last request."""
        self.close()
        self._head = self._end = self._take = None

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        end = self._end
        if end is None or end.done():  # nobody asked for this
            self.close()
            return
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            self._fail("malformed", type(error).__name__)
            return
        if self._news:
            self._notice(len(data))
        if self._parts:
            self._hand_on()
        if self._complete:
            self._finish(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        ends_here = self._headed and not {"content-length", "transfer-encoding"} & set(self.headers)
        if error is None and ends_here:
            self._finish(None)
        else:
            words = "ServerDisconnectedError" if error is None else type(error).__name__
            self._finish(Broken("cut", words))
        del self._parser  # it holds on to this, and this to it

    # What the parser tells.

    def on_message_begin(self) -> None:
        self._news = True
        self._extra = self._complete
        if not self._extra:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._extra:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        before = self.headers.get(key)
        self.headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        if self._extra:
            return
        self.status = self._parser.get_status_code()
        self._headed = self.status >= 200  # what comes before is a sign of life

    def on_message_complete(self) -> None:
        if self._headed and not self._extra:
            self._complete = self._news = True
            self._mine = len(self._parts)
            if not self._parser.should_keep_alive() and self._transport is not None:
                self._transport.close()

    def _hand_on(self) -> None:
        take, parts = self._take, self._parts
        if take is not None and parts:
            piece = parts[0] if len(parts) == 1 else b"".join(parts)
            parts.clear()
            take(piece)

    def _notice(self, size: int) -> None:
        """What the parser told beside pieces of the body."""
        if self._headed:
            self._news = False
            if self._head is not None and not self._head.done():
                self._head.set_result(None)
        else:
            self._head_bytes += size
            if self._head_bytes > LARGEST_HEAD_BYTES:
                self._fail("malformed", "the answer's head does not end")
        if self._extra:  # more than was asked for
            del self._parts[self._mine :]
            self.close()

    def _listen(self) -> None:
        """Look whether anything was heard in time, and when to look again."""
        sends = self._transport is not None and self._transport.get_write_buffer_size() > 0
        heard = self._loop.time() if self._held or sends else self._heard
        left_s = heard + self._silence_s - self._loop.time()
        if left_s <= 0:
            self._fail("silent", "SocketTimeoutError")
        else:
            self._silence = self._loop.call_later(left_s, self._listen)

    def _fail(self, how: How, words: str) -> None:
        self._finish(Broken(how, words))
        self.close()

    def _finish(self, broken: Broken | None) -> None:
        if self._silence is not None:
            self._silence.cancel()
        self.idle_since, self._take = self._loop.time(), None
        for waits in (self._head, self._end):
            if waits is None or waits.done():
                continue
            if broken is None:
                waits.set_result(None)
            else:
                waits.set_exception(broken)
                waits.exception()  # somebody may have left meanwhile
