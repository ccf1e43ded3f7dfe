"""The way back to the agent: what it is handed of an answer, and how a broken one is shown."""

import aiohttp
from aiohttp import web

from ..models.api_call import Ending
from .passage import Passage
from .refusal import upstream_error
from .request import NOT_PASSED_BACK
from .upstream import Upstream

BAD_GATEWAY, GATEWAY_TIMEOUT = 502, 504


class ClientLeft(Exception):
    """Whoever asked is gone."""


async def write(out: web.StreamResponse, chunk: bytes) -> None:
    """Hand on a part of an answer.

    Raises:
        ClientLeft
    """
    try:
        await out.write(chunk)
    except ConnectionError as error:  # aiohttp's own of this kind is a ClientError as well
        raise ClientLeft from error


async def finish(out: web.StreamResponse) -> None:
    """Hand on the end of an answer.

    Raises:
        ClientLeft
    """
    try:
        await out.write_eof()
    except ConnectionError as error:
        raise ClientLeft from error


def begun(
    answer: aiohttp.ClientResponse, upstream: Upstream, *, altered: bool
) -> web.StreamResponse:
    """An answer's head; with `altered` its length will be another."""
    headers = passed_back(answer, upstream)
    if altered:
        headers.pop("content-length", None)
    return web.StreamResponse(status=answer.status, headers=headers)


def passed_back(answer: aiohttp.ClientResponse, upstream: Upstream) -> dict[str, str]:
    """The headers of an answer that the agent may see; never one with the key in it."""
    secret = upstream.key
    return {
        name.lower(): value
        for name, value in answer.headers.items()
        if name.lower() not in NOT_PASSED_BACK and not (secret and secret in value)
    }


def ending_of(error: Exception) -> Ending:
    """How a call ended that broke off so."""
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return "unreachable"
    if isinstance(error, aiohttp.InvalidURL):
        return "unreachable"
    return "silent" if isinstance(error, TimeoutError) else "cut"


def failed(passage: Passage) -> web.Response:
    """What the agent is told where the upstream gave no answer of its own."""
    status = GATEWAY_TIMEOUT if passage.ending == "silent" else BAD_GATEWAY
    words = f"the provider {passage.claims.provider} gave no answer: {passage.ending}"
    return web.Response(
        status=status,
        content_type="application/json",
        body=upstream_error(passage.claims.dialect, words),
    )


def cut(request: web.BaseRequest, out: web.StreamResponse | None) -> web.StreamResponse:
    """End the connection where it stands: an answer that is not whole must not look whole."""
    abort(request)
    return out or web.Response(status=BAD_GATEWAY)


def abort(request: web.BaseRequest) -> None:
    """Drop the connection at once."""
    if request.transport is not None:
        request.transport.abort()


def words_of(error: Exception) -> str:
    """An error of the way to the upstream, without its address."""
    return type(error).__name__
