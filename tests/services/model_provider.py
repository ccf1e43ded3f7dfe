"""A provider of models that says what a test wants, over real HTTP, in both dialects.

A `Turn` is what one request gets; turns are used up in order, the last one again and again. It
wants the key that it was made with, and remembers every request.
"""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEY = "sk-canary-2f9d71c4b8"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one request gets.

    Args:
        text: what the model says. tool: a command that it calls as the tool `run` instead.
        status: of the answer; `error` is its body where it is no 200.
        first_byte_s, chunk_s: waits before the first byte and between events.
        cut_after: break the connection after so many events (or bytes of a document).
        malformed: a document, or an event, that is no JSON.
        tokens: (input, output) that it tells; None tells none.
    """

    text: str = "done"
    tool: str = ""
    status: int = 200
    error: str = "overloaded_error"
    headers: dict[str, str] = field(default_factory=dict)
    first_byte_s: float = 0.0
    chunk_s: float = 0.0
    cut_after: int | None = None
    malformed: bool = False
    tokens: tuple[int, int] | None = (10, 5)
    hang: bool = False


type Script = Sequence[Turn] | Callable[[dict[str, Any]], Turn]


@dataclass(slots=True)
class Provider:
    """The provider as tests see it: where it is, and what was asked of it."""

    url: str = ""
    script: Script = (Turn(),)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    _used: int = 0

    def plays(self, *turns: Turn) -> None:
        """Say these from now on, the last one for ever."""
        self.script, self._used = turns, 0

    def turn(self, request: dict[str, Any]) -> Turn:
        """The turn of a request."""
        if callable(self.script):
            return self.script(request)
        self._used += 1
        return self.script[min(self._used, len(self.script)) - 1]


@contextmanager
def model_provider(script: Script = (Turn(),)) -> Iterator[Provider]:
    """A provider on loopback while inside, in a thread of its own."""
    provider, loop, up = Provider(script=script), asyncio.new_event_loop(), threading.Event()

    async def start() -> web.ServerRunner:
        answers = _Answers(provider).answer
        server = web.Server(answers, access_log=None, handler_cancellation=True)
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        up.set()
        return runner

    def live() -> None:
        runner = loop.run_until_complete(start())
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    up.wait()
    try:
        yield provider
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


@dataclass(frozen=True, slots=True)
class _Answers:
    provider: Provider

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        anthropic = request.path.startswith("/v1/messages")
        self.provider.headers.append({k.lower(): v for k, v in request.headers.items()})
        self.provider.bodies.append(body)
        sent = request.headers.get("x-api-key" if anthropic else "authorization", "")
        if sent.removeprefix("Bearer ") != KEY:
            words = {"error": {"type": "authentication_error", "message": f"bad key: {sent}"}}
            return web.json_response(words, status=401)
        asked = json.loads(body)
        self.provider.requests.append(asked)
        turn = self.provider.turn(asked)
        if turn.hang:
            await asyncio.sleep(3600)
        await asyncio.sleep(turn.first_byte_s)
        name = "request-id" if anthropic else "x-request-id"
        headers = {name: f"req_{len(self.provider.requests)}", **turn.headers}
        if turn.status != 200:
            said = {"type": "error", "error": {"type": turn.error, "message": f"no: key {KEY}"}}
            return web.json_response(said, status=turn.status, headers=headers)
        events = (_messages if anthropic else _chat)(turn, asked)
        if asked.get("stream"):
            return await _stream(request, turn, events, headers)
        return await _document(request, turn, anthropic, asked, headers)


async def _stream(
    request: web.BaseRequest, turn: Turn, events: list[str], headers: dict[str, str]
) -> web.StreamResponse:
    out = web.StreamResponse(headers={"content-type": "text/event-stream", **headers})
    await out.prepare(request)
    async for number, event in _numbered(events, turn.chunk_s):
        if number == turn.cut_after:
            assert request.transport is not None
            request.transport.close()
            return out
        text = event.replace("{", "", 1) if turn.malformed and number == 1 else event
        await out.write(text.encode())
    await out.write_eof()
    return out


async def _numbered(events: list[str], pause_s: float) -> AsyncIterator[tuple[int, str]]:
    for number, event in enumerate(events):
        if pause_s and number:
            await asyncio.sleep(pause_s)
        yield number, event


async def _document(
    request: web.BaseRequest,
    turn: Turn,
    anthropic: bool,
    asked: dict[str, Any],
    headers: dict[str, str],
) -> web.StreamResponse:
    told = (_message_document if anthropic else _chat_document)(turn, asked)
    text = json.dumps(told).encode()
    if turn.malformed:
        text = text[:-2]
    if turn.cut_after is None:
        return web.Response(body=text, content_type="application/json", headers=headers)
    length = {"content-type": "application/json", "content-length": str(len(text))}
    out = web.StreamResponse(headers=length | headers)
    await out.prepare(request)
    await out.write(text[: turn.cut_after])
    assert request.transport is not None
    request.transport.close()
    return out


def _message_document(turn: Turn, asked: dict[str, Any]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": turn.text}]
    if turn.tool:
        content = [{"type": "tool_use", "id": "t1", "name": "run", "input": {"command": turn.tool}}]
    usage = None
    if turn.tokens:
        usage = {"input_tokens": turn.tokens[0], "output_tokens": turn.tokens[1]}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": "tool_use" if turn.tool else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }


def _messages(turn: Turn, asked: dict[str, Any]) -> list[str]:
    whole = _message_document(turn, asked)
    sent, made = turn.tokens or (0, 0)
    start = whole | {"content": [], "stop_reason": None}
    if turn.tokens:
        start["usage"] = {"input_tokens": sent, "output_tokens": 1}
    block = whole["content"][0]
    if turn.tool:
        empty: dict[str, Any] = block | {"input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    else:
        empty = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": word} for word in _pieces(turn.text)]
    end: dict[str, Any] = {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
    }
    if turn.tokens:
        end["usage"] = {"output_tokens": made}
    events = [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        end,
        {"type": "message_stop"},
    ]
    return [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]


def _chat_document(turn: Turn, asked: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.tool:
        function = {"name": "run", "arguments": json.dumps({"command": turn.tool})}
        message = {"role": "assistant", "content": None, "tool_calls": [
            {"id": "t1", "type": "function", "function": function}]}  # fmt: skip
    finish = "tool_calls" if turn.tool else "stop"
    told: dict[str, Any] = {
        "id": "chat_1",
        "object": "chat.completion",
        "created": 1,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if turn.tokens:
        told["usage"] = _usage(turn.tokens)
    return told


def _chat(turn: Turn, asked: dict[str, Any]) -> list[str]:
    whole = _chat_document(turn, asked)
    choice = whole["choices"][0]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": w} for w in _pieces(turn.text)]
    if turn.tool:
        calls = [call | {"index": 0} for call in choice["message"]["tool_calls"]]
        deltas = [{"role": "assistant", "tool_calls": calls}]
    base = {k: whole[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    chunks: list[dict[str, Any]] = [
        base | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    finish = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks.append(base | {"choices": [finish]})
    if turn.tokens and (asked.get("stream_options") or {}).get("include_usage"):
        chunks.append(base | {"choices": [], "usage": _usage(turn.tokens)})
    return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"]


def _usage(tokens: tuple[int, int]) -> dict[str, int]:
    sent, made = tokens
    return {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made}


def _pieces(text: str) -> list[str]:
    return [f"{word} " for word in text.split(" ")]
