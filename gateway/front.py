"""A client's connection: requests in, one after the other, each handed to whoever serves."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url

from .exchange import Exchange

type Serve = Callable[[Exchange], Awaitable[None]]
LARGEST_BODY_BYTES = 64 << 20
LARGEST_HEAD_BYTES = 256 << 10
MOST_WAITING = 4  # requests that a client sends before it has its answers
IDLE_S = 75.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
log = logging.getLogger(__name__)


class Front(asyncio.Protocol):
    """One connection. Its requests are served in their order, one at a time.

    Args:
        open_: those that are open; it adds itself and takes itself out.
    """

    def __init__(self, serve: Serve, open_: "set[Front]") -> None:
        self._serve, self._open = serve, open_
        self._loop = asyncio.get_running_loop()
        self._parser = HttpRequestParser(self)
        self._waiting: deque[Exchange] = deque()
        self._task: asyncio.Task[None] | None = None
        self._now: Exchange | None = None
        self._refused = False
        self._heard = self._loop.time()
        self._clear()

    def _clear(self) -> None:
        self._url, self._headers = b"", dict[str, str]()
        self._parts: list[bytes] = []
        self._size = self._head_bytes = 0
        self._in_head = True

    @property
    def busy(self) -> "asyncio.Task[None] | None":
        """The work under way."""
        return self._task

    def close_if_idle(self, now: float) -> None:
        """Close a connection that has said nothing for long.

        Args:
            now: the loop's time.
        """
        if self._task is None and now - self._heard > IDLE_S:
            self.transport.close()

    # What the event loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        del self._parser  # it holds on to this, and this to it

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        self._heard = self._loop.time()
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._refuse(501)
        except HttpParserError:
            self._refuse(400)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LARGEST_HEAD_BYTES:
                self._refuse(431)

    def pause_writing(self) -> None:
        if self._now is not None and self._now.hold is not None:
            self._now.hold(True)

    def resume_writing(self) -> None:
        if self._now is not None and self._now.hold is not None:
            self._now.hold(False)

    # What the parser tells.

    def on_message_begin(self) -> None:
        self._clear()

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        before = self._headers.get(key)
        self._headers[key] = text if before is None else f"{before}, {text}"

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._parser.should_upgrade():  # its body would not be read
            self._refuse(501)
        if self._headers.get("expect", "").lower() == "100-continue" and self._task is None:
            self.transport.write(CONTINUE)

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size <= LARGEST_BODY_BYTES:
            self._parts.append(body)
        else:
            self._refuse(413)

    def on_message_complete(self) -> None:
        if self._refused:
            return
        parser = self._parser
        url = parse_url(self._url)
        exchange = Exchange(
            parser.get_method().decode("latin-1"),
            (url.path or b"/").decode("latin-1"),
            (url.query or b"").decode("latin-1"),
            self._headers,
            self._parts[0] if len(self._parts) == 1 else b"".join(self._parts),
            self.transport,
            keep_alive=parser.should_keep_alive(),
            old=parser.get_http_version() == "1.0",
        )
        self._parts = []
        self._waiting.append(exchange)
        if len(self._waiting) > MOST_WAITING:
            self._refuse(429)
        elif self._task is None:
            self._task = self._loop.create_task(self._all())

    async def _all(self) -> None:
        """Serve what came, then listen again."""
        try:
            while self._waiting:
                self._now = self._waiting.popleft()
                await self._serve(self._now)
                if not self._now.whole or not self._now.keep_alive:
                    self.transport.close()
                    return
        except Exception:
            log.exception("a request could not be served")
            self.transport.abort()
        finally:
            self._task = self._now = None
            self._heard = self._loop.time()
            if self._refused:
                self.transport.close()

    def _refuse(self, status: int) -> None:
        """Answer what is no request to be served, and hear no more."""
        if self._refused:
            return
        self._refused = True
        if self._task is None:
            Exchange("", "", "", {}, b"", self.transport, keep_alive=False).answer(status, {}, b"")
            self.transport.close()
        else:
            self.transport.abort()
