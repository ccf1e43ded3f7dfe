"""What a request asks, and how it goes on to its provider: pure.

A token is good for one model of one provider: the model that a body names is held against it. A
stream of the OpenAI dialect tells its tokens only when asked; it is asked, and the chunk that
answers is taken out again (see `answer.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pydantic_core import from_json, to_json

from ..models.api_token import Claims
from ..models.provider import Dialect
from .refusal import Refusal

TOKEN_HEADERS = ("x-api-key", "authorization", "api-key", "x-goog-api-key")
ANTHROPIC_PATHS = ("/v1/messages", "/v1/messages/count_tokens")
OPENAI_PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/completions", "/v1/embeddings")
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
TELLS_WHEN_ASKED = ("/v1/chat/completions", "/v1/completions")
# Of one hop alone, or written anew; and whatever could say who the agent is to the provider.
NOT_PASSED_ON = frozenset(
    {
        *TOKEN_HEADERS,
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te"),
        *("upgrade", "trailer", "proxy-authorization", "proxy-connection", "accept-encoding"),
        *("cookie", "expect", "forwarded", "x-forwarded-for", "x-real-ip"),
    }
)
NOT_PASSED_BACK = frozenset(
    {
        *("transfer-encoding", "connection", "keep-alive", "upgrade", "trailer", "te"),
        *("set-cookie", "proxy-authenticate", "alt-svc"),
    }
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that may go on: the upstream's path, the body, and what to take out again."""

    path: str
    body: bytes
    streamed: bool
    usage_asked: bool = False


def token_of(headers: Mapping[str, str]) -> str:
    """The token that a request carries, where its library puts the API key; "" for none."""
    for name in TOKEN_HEADERS:
        value = headers.get(name, "")
        if value:
            return value.removeprefix("Bearer ").removeprefix("bearer ").strip()
    return ""


def spoken(path: str, headers: Mapping[str, str], else_: Dialect = "openai") -> Dialect:
    """Which dialect a request speaks, as far as it can be told; `else_` where it cannot."""
    if path in ANTHROPIC_PATHS or "anthropic-version" in headers:
        return "anthropic"
    return "openai" if path in OPENAI_PATHS else else_


def asked(claims: Claims, method: str, path: str, body: bytes) -> Asked:
    """What a request asks, if its token grants that.

    Args:
        path: as the client sent it, without a query.
    Raises:
        Refusal: another model, a path that is not served, or no JSON where there must be some.
    """
    if claims.dialect == "other":
        return _of_any_kind(claims, method, path, body)
    paths = ANTHROPIC_PATHS if claims.dialect == "anthropic" else OPENAI_PATHS
    if method != "POST" or path not in paths:
        raise Refusal("path", f"{method} {path} is not served; POST to one of {', '.join(paths)}")
    document = _object(body)
    changed = _bound(claims, document)
    streamed = document.get("stream") is True
    wants_usage = streamed and path in TELLS_WHEN_ASKED and not _asks_for_usage(document)
    if wants_usage:
        told = document.get("stream_options")
        document["stream_options"] = {**(told if isinstance(told, dict) else {}),
                                      "include_usage": True}  # fmt: skip
    if changed or wants_usage:
        body = to_json(document)
    at = path if claims.dialect == "anthropic" else path.removeprefix("/v1")
    return Asked(at, body, streamed, wants_usage)


def _of_any_kind(claims: Claims, method: str, path: str, body: bytes) -> Asked:
    """An API of which nothing is known: the model's name must stand in the body or the path."""
    parts = unquote(path).replace(":", "/").split("/")
    if method not in METHODS or ".." in parts:
        raise Refusal("path")
    try:
        document = from_json(body) if body else {}
    except ValueError:
        document = {}
    named = isinstance(document, dict) and "model" in document
    if named:
        if _bound(claims, document):
            body = to_json(document)
    elif not {claims.upstream, claims.model} & set(parts):
        raise Refusal("model", f"neither body nor path names the model {claims.model!r}")
    return Asked(path, body, named and document.get("stream") is True)


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = from_json(body)
    except ValueError as error:
        raise Refusal("body", f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise Refusal("body")
    return document


def _bound(claims: Claims, document: dict[str, Any]) -> bool:
    """Hold the body's model against the token's; whether the upstream's name was put in."""
    model = document.get("model")
    if model not in (claims.model, claims.upstream):
        raise Refusal("model", f"this token is for the model {claims.model!r}, not for {model!r}")
    document["model"] = claims.upstream
    return bool(model != claims.upstream)


def _asks_for_usage(document: dict[str, Any]) -> bool:
    told = document.get("stream_options")
    return isinstance(told, dict) and bool(told.get("include_usage"))
