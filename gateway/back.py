"""The way back to the agent: what it is handed of an answer, and in which order."""

import asyncio
import json
from collections.abc import Mapping

from .answer import Stream
from .exchange import Exchange
from .line import Line
from .passage import Passage
from .refusal import Refusal, upstream_error
from .request import NOT_PASSED_BACK
from .upstream import Upstream

BAD_GATEWAY, GATEWAY_TIMEOUT = 502, 504
AS_JSON = {"content-type": "application/json"}


class Flow:
    """An answer's body on its way from the provider's line to the client.

    Pieces go on as they come, until the last event of a stream has come: that piece and what
    follows are kept back, for a call is written down before its client sees it end.
    """

    def __init__(self, exchange: Exchange, passage: Passage, line: Line, *, keep: bool) -> None:
        self._exchange, self._passage, self._line = exchange, passage, line
        self._back: list[bytes] | None = None
        self._last = asyncio.get_running_loop().create_future()
        self._onward = False
        answer = passage.answer
        assert answer is not None, "a body comes after its headers"
        self._feed, self._write = answer.feed, exchange.write
        self._stream = answer if isinstance(answer, Stream) else None
        self.kept: list[bytes] | None = [] if keep else None

    async def ended(self) -> None:
        """Hand on what comes; returns when the last event or the answer's end has come.

        Raises:
            Broken
        """
        end = self._line.pour(self._take)
        self._exchange.flush()
        if not (end.done() or self._last.done()):
            end.add_done_callback(self._noted)
            await self._last
        if end.done() and not (self._stream and self._stream.whole):
            end.result()

    async def rest(self, closing: bytes) -> None:
        """Hand on what was kept back, what still comes, and the end.

        Args:
            closing: the very last of it.
        Raises:
            Broken
        """
        back, self._back = self._back or [], None
        self._onward = True
        for piece in filter(None, back):
            self._exchange.write(piece)
        await self._line.pour(self._take)
        if closing:
            self._exchange.write(closing)
        self._exchange.finish()

    def _take(self, chunk: bytes) -> None:
        passage, stream = self._passage, self._stream
        if passage.first_byte_s is None:
            passage.first_byte_s = passage.age_s
        passage.received_bytes += len(chunk)
        piece = self._feed(chunk)
        if self.kept is not None:
            self.kept.append(chunk)
        if self._back is not None:
            self._back.append(piece)
        elif stream is not None and stream.whole and not self._onward:
            self._back = [piece]
            self._noted()
        elif piece:
            self._write(piece)

    def _noted(self, _end: object = None) -> None:
        if not self._last.done():
            self._last.set_result(None)


def begin(exchange: Exchange, status: int, headers: Mapping[str, str], *, altered: bool) -> None:
    """An answer's head; with `altered` its length will be another."""
    if altered:
        headers = {name: text for name, text in headers.items() if name != "content-length"}
    exchange.begin(status, headers)


def passed_back(headers: Mapping[str, str], upstream: Upstream) -> dict[str, str]:
    """The headers of an answer that the agent may see; never one with the key in it."""
    secret = upstream.key
    return {
        name: value
        for name, value in headers.items()
        if name not in NOT_PASSED_BACK and not (secret and secret in value)
    }


def refused(exchange: Exchange, refusal: Refusal, body: bytes) -> None:
    """Tell of a refusal."""
    exchange.answer(refusal.kind.status, refusal.headers, body)


def told(exchange: Exchange, document: object) -> None:
    """Answer with a document of our own."""
    exchange.answer(200, AS_JSON, json.dumps(document).encode())


def failed(exchange: Exchange, passage: Passage) -> None:
    """What the agent is told where the upstream gave no answer of its own."""
    status = GATEWAY_TIMEOUT if passage.ending == "silent" else BAD_GATEWAY
    words = f"the provider {passage.claims.provider} gave no answer: {passage.ending}"
    exchange.answer(status, AS_JSON, upstream_error(passage.claims.dialect, words))
