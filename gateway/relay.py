"""The relay: a request in, checked; the same request on to its provider; the answer back as it
comes. It never tries again: what the provider answers, the agent gets, and backing off is the
agent's business.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web
from redis.exceptions import RedisError

from ..models.api_call import ApiUse, use_of
from ..models.api_token import Claims, Seal, TokenRefused
from .back import (
    ClientLeft,
    abort,
    begun,
    cut,
    ending_of,
    failed,
    finish,
    passed_back,
    words_of,
    write,
)
from .books import Books
from .passage import Passage
from .refusal import Refusal, upstream_error
from .request import NOT_PASSED_ON, asked, spoken, token_of
from .upstream import Upstream

USE_PATH = "/infranoise/api"
HEALTH_PATH = "/infranoise/health"
LARGEST_BODY_BYTES = 64 << 20
CONNECT_S = 20.0
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
    session: aiohttp.ClientSession
    content: Callable[[str, bytes, bytes], None] | None = None
    _under_way: set[Passage] = field(default_factory=set)
    _settling: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        if request.path == HEALTH_PATH:
            return web.json_response({"under_way": len(self._under_way)})
        dialect = spoken(request.path, request.headers)
        try:
            claims = self._claims(request)
            dialect = spoken(request.path, request.headers, claims.dialect)
            if request.path == USE_PATH:
                return web.Response(
                    text=(await self.use(claims)).model_dump_json(),
                    content_type="application/json",
                )
            return await self._relay(request, claims)
        except Refusal as refusal:
            return web.Response(
                status=refusal.kind.status, headers=refusal.headers, body=refusal.body(dialect)
            )

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

    def _claims(self, request: web.BaseRequest) -> Claims:
        try:
            return self.seal.read(token_of(request.headers), time.time())
        except TokenRefused as refused:
            raise Refusal(refused.why, str(refused)) from refused

    async def _relay(self, request: web.BaseRequest, claims: Claims) -> web.StreamResponse:
        upstream = self.upstreams.get(claims.provider)
        if upstream is None:
            raise Refusal("provider", f"this gateway serves no provider {claims.provider!r}")
        wanted = asked(claims, request.method, request.path, await request.read())
        await self.books.admit(claims)
        retry = request.headers.get("x-stainless-retry-count", "0")
        passage = Passage(
            claims, wanted, int(retry) if retry.isdecimal() else 0, asyncio.current_task()
        )
        self._under_way.add(passage)
        try:
            return await self._forward(request, upstream, passage)
        except asyncio.CancelledError:  # the client left, or `sweep` cut it
            abort(request)
            raise
        finally:
            self._under_way.discard(passage)
            if not passage.settles:
                passage.ending = passage.ending or "client_left"
                self._settle(passage)

    async def _forward(
        self, request: web.BaseRequest, upstream: Upstream, passage: Passage
    ) -> web.StreamResponse:
        query = f"?{request.query_string}" if request.query_string else ""
        url = f"{upstream.provider.base_url.rstrip('/')}{passage.asked.path}{query}"
        passed = {k: v for k, v in request.headers.items() if k.lower() not in NOT_PASSED_ON}
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_S, sock_read=upstream.provider.silence_s
        )
        out: web.StreamResponse | None = None
        try:
            async with self.session.request(
                request.method,
                url,
                data=passage.asked.body,
                headers=upstream.headers(passed),
                timeout=timeout,
                allow_redirects=False,
            ) as answer:
                passage.answered(answer.status, {k.lower(): v for k, v in answer.headers.items()})
                if answer.status >= 400:
                    return await self._error(upstream, passage, answer)
                out = begun(answer, upstream, altered=passage.asked.usage_asked)
                await out.prepare(request)
                await self._stream(out, passage, answer)
                return out
        except ClientLeft:
            passage.ending = "client_left"
            return cut(request, out)
        except (aiohttp.ClientError, TimeoutError) as error:
            passage.ending, passage.detail = ending_of(error), words_of(error)
            await self._written_down(passage)
            if out is not None and out.prepared:  # the client must see that it is not whole
                return cut(request, out)
            return failed(passage)

    async def _stream(
        self, out: web.StreamResponse, passage: Passage, answer: aiohttp.ClientResponse
    ) -> None:
        kept: list[bytes] | None = None if self.content is None else []
        async for chunk in answer.content.iter_any():
            onward = passage.passed(chunk)
            if kept is not None:
                kept.append(chunk)
            if passage.whole:
                await self._close(passage)
            if onward:
                await write(out, onward)
        rest = await self._close(passage)
        if kept is not None and self.content is not None:
            self.content(passage.claims.attempt, passage.asked.body, b"".join(kept))
        if rest:
            await write(out, rest)
        await finish(out)

    async def _close(self, passage: Passage) -> bytes:
        """The answer is whole. It is written down before the client sees that, so that it can ask
        at once what it has used; returns what was kept back."""
        if passage.settles:
            return b""
        rest = passage.closed()
        await self._written_down(passage)
        return rest

    async def _error(
        self, upstream: Upstream, passage: Passage, answer: aiohttp.ClientResponse
    ) -> web.Response:
        """An answer that is an error, whole; nothing of the key goes back with it."""
        body = await answer.content.read(LARGEST_ERROR_BYTES)
        passage.passed(body)
        passage.ending, passage.detail = "complete", ""
        if answer.status in KEY_REFUSED:
            passage.detail = "the provider refused the gateway's key"
            body = upstream_error(passage.claims.dialect, passage.detail)
        await self._written_down(passage)
        headers = passed_back(answer, upstream) | {"content-type": answer.content_type}
        headers.pop("content-length", None)
        return web.Response(status=answer.status, headers=headers, body=upstream.redacted(body))

    async def _written_down(self, passage: Passage) -> None:
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
