"""The relay: a request in, checked; the same request on to its provider; the answer back as it
comes. It never tries again: what the provider answers, the agent gets, and backing off is the
agent's business.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redis.exceptions import RedisError

from ..models.api_call import ApiUse, use_of
from ..models.api_token import Claims, Seal, TokenRefused
from .back import AS_JSON, Flow, begin, failed, passed_back, refused, told
from .books import Books
from .exchange import Exchange
from .line import Broken, Line
from .lines import Lines
from .passage import Passage
from .refusal import Refusal, upstream_error
from .request import asked, spoken, token_of
from .upstream import Upstream

USE_PATH = "/infranoise/api"
HEALTH_PATH = "/infranoise/health"
SWEEP_S = 2.0
SETTLE_TRIES, SETTLE_WAIT_S, SETTLE_AGAIN_S = 60, 2.0, 1.0
LARGEST_ERROR_BYTES = 1 << 20
KEY_REFUSED = (401, 403, 407)
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Relay:
    """One gateway's handler of requests.

    Args:
        content: called with the attempt, a request's body and its answer's, where that is asked.
    """

    seal: Seal
    upstreams: Mapping[str, Upstream]
    books: Books
    lines: Lines
    content: Callable[[str, bytes, bytes], None] | None = None
    _under_way: set[Passage] = field(default_factory=set)
    _settling: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def handle(self, exchange: Exchange) -> None:
        """Answer one request."""
        if exchange.path == HEALTH_PATH:
            return told(exchange, {"under_way": len(self._under_way)})
        dialect = spoken(exchange.path, exchange.headers)
        try:
            claims = self._claims(exchange)
            dialect = spoken(exchange.path, exchange.headers, claims.dialect)
            if exchange.path == USE_PATH:
                return told(exchange, (await self.use(claims)).model_dump(mode="json"))
            await self._relay(exchange, claims)
        except Refusal as refusal:
            refused(exchange, refusal, refusal.body(dialect))

    async def use(self, claims: Claims) -> ApiUse:
        """What an attempt has had of its API until now.

        Raises:
            Refusal: the queue's server does not answer.
        """
        calls, refused = await self.books.calls(claims)
        now = time.time()
        live = [p for p in self._under_way if p.lease == (claims.attempt, claims.fence)]
        waiting = [p.age_s for p in live if p.first_byte_s is None]
        spans = [(p.at, now) for p in live]
        return use_of(
            calls, refused=refused, under_way=spans, unanswered_s=max(waiting, default=0.0)
        )

    async def sweep(self) -> None:
        """For ever: cut calls whose attempt has ended."""
        while True:
            await asyncio.sleep(SWEEP_S)
            self.lines.sweep()
            try:
                over = await self.books.ended(p.lease for p in self._under_way)
            except RedisError as error:
                log.warning("leases cannot be asked for: %s", error)
                continue
            for passage in [p for p in self._under_way if p.lease in over]:
                passage.ending = "ended"
                if passage.task is not None:
                    passage.task.cancel()

    async def settled(self) -> None:
        """Wait until every call that has ended is written down."""
        while self._settling:
            await asyncio.wait(self._settling)

    def _claims(self, exchange: Exchange) -> Claims:
        try:
            return self.seal.read(token_of(exchange.headers), time.time())
        except TokenRefused as refused:
            raise Refusal(refused.why, str(refused)) from refused

    async def _relay(self, exchange: Exchange, claims: Claims) -> None:
        upstream = self.upstreams.get(claims.provider)
        if upstream is None:
            raise Refusal("provider", f"this gateway serves no provider {claims.provider!r}")
        wanted = asked(claims, exchange.method, exchange.path, exchange.body)
        await self.books.admit(claims)
        retry = exchange.headers.get("x-stainless-retry-count", "0")
        passage = Passage(
            claims, wanted, int(retry) if retry.isdecimal() else 0, asyncio.current_task()
        )
        self._under_way.add(passage)
        try:
            await self._forward(exchange, upstream, passage)
        except asyncio.CancelledError:  # the client left, or `sweep` cut it
            exchange.abort()
            raise
        finally:
            self._under_way.discard(passage)
            if not passage.settles:
                passage.ending = passage.ending or "client_left"
                self._settle(passage)

    async def _forward(self, exchange: Exchange, upstream: Upstream, passage: Passage) -> None:
        line: Line | None = None
        clean = False
        try:
            line = await self.lines.line(upstream.origin)
            exchange.hold = line.hold
            await line.ask(upstream.request(exchange, passage.asked), upstream.provider.silence_s)
            passage.answered(line.status, line.headers)
            if line.status >= 400:
                await self._error(exchange, upstream, passage, line)
            else:
                await self._hand_on(exchange, upstream, passage, line)
            clean = True
        except Broken as broken:
            passage.ending, passage.detail = broken.how, str(broken)
            await self._written_down(passage)
            if exchange.begun:  # the client must see that it is not whole
                exchange.abort()
            else:
                failed(exchange, passage)
        finally:
            exchange.hold = None
            if line is not None and clean:
                line.hold(False)  # a client that is slow to the end holds no other
                self.lines.give_back(upstream.origin, line)
            elif line is not None:
                line.leave()

    async def _hand_on(
        self, exchange: Exchange, upstream: Upstream, passage: Passage, line: Line
    ) -> None:
        """An answer that is none of an error, piece by piece."""
        headers = passed_back(line.headers, upstream)
        begin(exchange, line.status, headers, altered=passage.asked.usage_asked)
        flow = Flow(exchange, passage, line, keep=self.content is not None)
        await flow.ended()
        rest = passage.closed()
        await self._written_down(passage)
        await flow.rest(rest)
        if flow.kept is not None and self.content is not None:
            self.content(passage.claims.attempt, passage.asked.body, b"".join(flow.kept))

    async def _error(
        self, exchange: Exchange, upstream: Upstream, passage: Passage, line: Line
    ) -> None:
        """An answer that is an error, whole; nothing of the key goes back with it."""
        body, headers = await line.read(LARGEST_ERROR_BYTES), passed_back(line.headers, upstream)
        passage.refused(body)
        if line.status in KEY_REFUSED:
            passage.detail = "the provider refused the gateway's key"
            body, headers = upstream_error(passage.claims.dialect, passage.detail), AS_JSON
        await self._written_down(passage)
        exchange.answer(line.status, headers, upstream.redacted(body))

    async def _written_down(self, passage: Passage) -> None:
        if passage.settles:
            return
        await asyncio.wait({self._settle(passage)}, timeout=SETTLE_WAIT_S)

    def _settle(self, passage: Passage) -> "asyncio.Task[None]":
        """Begin to write a call down; it goes on by itself."""
        passage.settles = True
        task = asyncio.create_task(self._settle_in_time(passage))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        return task

    async def _settle_in_time(self, passage: Passage) -> None:
        call = passage.told()
        for _ in range(SETTLE_TRIES):
            try:
                await self.books.settle(passage.claims, call)
                return
            except RedisError as error:
                log.warning("call %s is not written down yet: %s", call.id, error)
                await asyncio.sleep(SETTLE_AGAIN_S)
        log.error("call %s of attempt %s was never written down", call.id, call.attempt)
