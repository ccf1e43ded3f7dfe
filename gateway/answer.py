"""An answer as it passes by: whether it came whole, how many tokens it tells of. No I/O.

Events of a stream are looked at only where one of a few words stands in them; the rest passes
unread.
"""

import json
import re
from typing import Any

from ..models.provider import Tokens

LONGEST_LINE_BYTES = 1 << 20
LARGEST_DOCUMENT_BYTES = 8 << 20
LAST_EVENTS = frozenset({"message_stop", "response.completed", "response.incomplete"})
ERROR_EVENTS = frozenset({"error", "response.failed"})
WORDS = re.compile(rb"usage|message_stop|error|response\.|\[DONE\]")
NO_CHOICES = [b'"choices":[]', b'"choices": []']


class Stream:
    """A stream of server-sent events.

    `whole` turns true at its last event; `fault` says what an event of error told.

    Args:
        take_out_usage: the client did not ask for the chunk of tokens; keep it back.
    """

    def __init__(self, *, take_out_usage: bool = False) -> None:
        self.whole, self.fault = False, ""
        self.tokens: Tokens | None = None
        self._rest, self._take_out, self._drop_blank = b"", take_out_usage, False

    def feed(self, chunk: bytes) -> bytes:
        """Look at a chunk; returns what goes on to the client now."""
        if not self._rest and not self._take_out and chunk.endswith(b"\n"):  # whole lines, mostly
            if WORDS.search(chunk):
                for line in chunk.splitlines():
                    self._look(line)
            return chunk
        text = self._rest + chunk
        end = text.rfind(b"\n") + 1
        lines, self._rest = text[:end], text[end:]
        if not self._take_out:
            if len(self._rest) > LONGEST_LINE_BYTES:
                self._rest = b""
            if WORDS.search(lines):
                for line in lines.splitlines():
                    self._look(line)
            return chunk
        return b"".join([line for line in lines.splitlines(keepends=True) if self._passes(line)])

    def close(self) -> bytes:
        """The stream has ended; returns what was kept back of an unfinished line."""
        rest, self._rest = self._rest, b""
        self._look(rest)
        return rest if self._take_out else b""

    def _passes(self, line: bytes) -> bool:
        told = self._look(line)
        if told is not None and any(word in line for word in NO_CHOICES) and told.get("usage"):
            self._drop_blank = True
            return False
        blank, self._drop_blank = self._drop_blank and not line.strip(), False
        return not blank

    def _look(self, line: bytes) -> dict[str, Any] | None:
        if not line.startswith(b"data:") or not WORDS.search(line):
            return None
        text = line[5:].strip()
        if text == b"[DONE]":
            self.whole = True
            return None
        try:
            event = json.loads(text)
        except ValueError:
            self.fault = self.fault or "an event of the stream is not JSON"
            return None
        if not isinstance(event, dict):
            return None
        kind = event.get("type")
        if kind in LAST_EVENTS:
            self.whole = True
        elif kind in ERROR_EVENTS or (kind is None and isinstance(event.get("error"), dict)):
            self.fault = _words(event)
        self.tokens = tokens_in(event, before=self.tokens) or self.tokens
        return event


class Document:
    """An answer that is one document. `malformed` where it says it is JSON and is not.

    Its last piece is kept back until `close`, so that nobody has it whole before.
    """

    def __init__(self, *, is_json: bool) -> None:
        self.tokens: Tokens | None = None
        self.malformed = False
        self._is_json, self._parts, self._size = is_json, [b""], 0
        self._last = b""

    def feed(self, chunk: bytes) -> bytes:
        """Look at a chunk; returns the one before it."""
        self._size += len(chunk)
        if self._is_json and self._size <= LARGEST_DOCUMENT_BYTES:
            self._parts.append(chunk)
        before, self._last = self._last, chunk
        return before

    def close(self) -> bytes:
        """The answer has ended; returns its last piece."""
        if self._is_json and self._size <= LARGEST_DOCUMENT_BYTES:
            try:
                told = json.loads(b"".join(self._parts))
            except ValueError:
                self.malformed = True
            else:
                self.tokens = tokens_in(told) if isinstance(told, dict) else None
        self._parts.clear()
        return self._last


def tokens_in(document: dict[str, Any], before: Tokens | None = None) -> Tokens | None:
    """The tokens that an answer, or an event of one, tells of; None where it tells of none.

    Args:
        before: what earlier events told; later ones replace what they name.

    >>> tokens_in({"usage": {"prompt_tokens": 9, "completion_tokens": 2}}).total
    11
    """
    for holder in (document, document.get("message"), document.get("response")):
        if isinstance(holder, dict):
            usage = holder.get("usage") or holder.get("usageMetadata")
            if isinstance(usage, dict):
                return _read(usage, before or Tokens())
    return None


def _read(usage: dict[str, Any], before: Tokens) -> Tokens:
    if "promptTokenCount" in usage:
        cached = _count(usage, "cachedContentTokenCount")
        output = _count(usage, "candidatesTokenCount") + _count(usage, "thoughtsTokenCount")
        return Tokens(
            input=max(0, _count(usage, "promptTokenCount") - cached),
            output=output,
            cache_read=cached,
        )
    if "prompt_tokens" in usage:
        return _with_cached_inside(usage, "prompt_tokens", "completion_tokens")
    if "input_tokens_details" in usage:
        return _with_cached_inside(usage, "input_tokens", "output_tokens")
    return Tokens(
        input=_count(usage, "input_tokens", before.input),
        output=_count(usage, "output_tokens", before.output),
        cache_read=_count(usage, "cache_read_input_tokens", before.cache_read),
        cache_write=_count(usage, "cache_creation_input_tokens", before.cache_write),
    )


def _with_cached_inside(usage: dict[str, Any], sent: str, made: str) -> Tokens:
    """OpenAI counts what the cache served among its input."""
    details = usage.get(f"{sent}_details")
    cached = _count(details, "cached_tokens") if isinstance(details, dict) else 0
    return Tokens(
        input=max(0, _count(usage, sent) - cached), output=_count(usage, made), cache_read=cached
    )


def _count(usage: dict[str, Any], name: str, default: int = 0) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) and value >= 0 else default


def _words(event: dict[str, Any]) -> str:
    error = event.get("error") or (event.get("response") or {}).get("error") or {}
    kind = error.get("type") or error.get("code") if isinstance(error, dict) else error
    return f"an event of the stream tells of {kind or 'an error'}"
