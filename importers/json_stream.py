"""JSON too large to hold: the keys of an object and the items of its lists, one at a time."""

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..models.errors import SourceFault
from .json_bounded import FEW_BYTES, check_parts, kind, whole

MOST_ITEM = 64 * 1024 * 1024
"""Characters of one item; a larger one is no sample."""
BLANKS, NUMBERISH = re.compile(r"[ \t\n\r]*"), re.compile(r"[-+.0-9eE]*")
DECODER = json.JSONDecoder()


def walk(
    path: Path, chunks: Iterable[bytes], lists: frozenset[str] = frozenset(), place: str = ""
) -> Iterator[tuple[str, object]]:
    """Every key of an object with its value, but of the keys in `lists` the key with each item.

    A document that is a list gives "" with each item. Nothing but one value is held at a time.

    Args:
        chunks: the document's bytes, in pieces of any size.
        place: where in the file the document stands, for faults.
    Raises:
        SourceFault: the bytes are not UTF-8 or no such JSON, with the place; or one value is larger
            than `MOST_ITEM`.
    """
    text = _Text(path, chunks, place)
    mark = text.peek_mark()
    if mark not in "[{":
        raise text.fault(f"begins with {mark!r} where an object or a list belongs")
    text.next_mark()
    if mark == "{":
        yield from _members(text, lists)
    else:
        yield from (("", item) for item in _items(text))
    if (mark := text.next_mark(end=True)) != "":
        raise text.fault(f"goes on with {mark!r} after its end")


def _members(text: "_Text", lists: frozenset[str]) -> Iterator[tuple[str, object]]:
    if text.peek_mark() == "}":
        text.next_mark()
        return
    while True:
        key = text.value()
        if not isinstance(key, str) or text.next_mark() != ":":
            raise text.fault("holds no key with a value where one belongs")
        if key in lists and text.peek_mark() == "[":
            text.next_mark()
            yield from ((key, item) for item in _items(text))
        else:
            yield key, text.value()
        if text.separator("}"):
            return


def _items(text: "_Text") -> Iterator[object]:
    if text.peek_mark() == "]":
        text.next_mark()
        return
    while True:
        yield text.value()
        if text.separator("]"):
            return


class _Text:
    """The part of a document that is being looked at."""

    def __init__(self, path: Path, chunks: Iterable[bytes], place: str) -> None:
        self._path, self._place, self._chunks = path, place, iter(chunks)
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("strict").decode
        self._text, self._at = "", 0
        self._passed = 0  # characters that are no longer held
        self._bytes, self._ended = 0, False

    def peek_mark(self) -> str:
        """The next character that is not blank; it stays."""
        while True:
            self._at = _end_of(BLANKS, self._text, self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                raise self.fault("ends in the middle of its JSON")

    def next_mark(self, *, end: bool = False) -> str:
        """The same, taken. With `end` the document may be over: then ""."""
        if end:
            try:
                return self.peek_mark()
            except SourceFault:
                if self._ended:
                    return ""
                raise
        mark = self.peek_mark()
        self._at += 1
        return mark

    def separator(self, closing: str) -> bool:
        """Take a comma or the closing mark; True if it was the latter."""
        mark = self.next_mark()
        if mark not in (",", closing):
            raise self.fault(f"has {mark!r} where ',' or {closing!r} belongs")
        return mark == closing

    def value(self) -> object:
        """The next value, taken."""
        self.peek_mark()
        wanted = 1
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                # What is there may be the beginning of a value, or wrong.
                wrong_at = error.pos - self._at
                if not self._grow(wanted):
                    self._at += wrong_at
                    cut = self._at >= len(self._text) - 1
                    raise self.fault(
                        "ends in the middle of its JSON" if cut else error.msg
                    ) from error
            except RecursionError as error:
                raise self.fault("is nested too deeply to be results") from error
            except ValueError as error:
                raise self.fault("holds a number of thousands of digits") from error
            else:
                # A number at the very end of what is held may go on.
                length, known = end - self._at, _end_of(NUMBERISH, self._text, end)
                if known < len(self._text) or not self._grow(wanted):
                    self._at += length
                    return self._whole(value, length)
            wanted *= 2

    def _whole(self, value: object, length: int) -> object:
        try:
            return whole(value, self._text, self._at - length, self._at)
        except RecursionError as error:
            raise self.fault("is nested too deeply to be results") from error

    def fault(self, problem: str) -> SourceFault:
        """Something wrong where we are."""
        return SourceFault(self._path, self._where(), problem)

    def _where(self) -> str:
        where = f"character {self._passed + self._at + 1:,}"
        return f"{self._place}, {where}" if self._place else where

    def _grow(self, chunks: int) -> bool:
        """Hold more text; False at the document's end."""
        grown = False
        for _ in range(chunks):
            if len(self._text) - self._at > MOST_ITEM:
                raise self.fault(f"holds one value of more than {MOST_ITEM:,} characters")
            if not self._more():
                break
            grown = True
        if len(self._text) > FEW_BYTES:
            check_parts(self._path, self._text, self._where())
        return grown

    def _more(self) -> bool:
        try:
            chunk = next(self._chunks, b"")
            text = self._decode(chunk, not chunk)
        except UnicodeDecodeError as error:
            raise SourceFault(
                self._path,
                f"{self._place + ', ' if self._place else ''}byte {self._bytes + error.start:,}",
                "is not UTF-8; save the file in that encoding",
            ) from error
        self._bytes += len(chunk)
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + text, 0
        self._ended = not chunk
        return bool(chunk)


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def as_object(path: Path, place: str, value: object) -> dict[str, object]:
    """An item that must be an object.

    Raises:
        SourceFault: it is none.
    """
    if not isinstance(value, dict):
        raise SourceFault(path, place, f"an object belongs here, not a {kind(value)}")
    return value
