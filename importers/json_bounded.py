"""JSON that others wrote, read within bounds: how many values, how deep, whole characters.

Small text may be enormous as values, and what is legal JSON may be nothing that can be written down
again. Every way in which it can be wrong becomes a `SourceFault` with the file and the place.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from ..models.errors import SourceFault
from .bounded import MOST_BYTES, Where, decoded, read_bytes

MOST_PARTS = 2_000_000
"""Values in one document, or in one item of a stream: each takes memory beyond its text."""
FEW_BYTES = 1024 * 1024
"""Less text than this cannot hold as many."""
HALF = re.compile("[\ud800-\udfff]")

type Object = Mapping[str, Any]


def read_object(path: Where, most: int = MOST_BYTES) -> tuple[dict[str, Any], bytes]:
    """A file that holds one JSON object, and the digest of its bytes.

    Raises:
        SourceFault: as `read_text`; or it is no JSON, or JSON of something else.
    """
    content = read_bytes(path, most)
    return parse_object(path, content), hashlib.sha256(content).digest()


def parse_object(path: Where, content: bytes, place: str = "") -> dict[str, Any]:
    """The JSON object in some bytes of a file.

    Raises:
        SourceFault: they are no JSON, in another encoding, nested too deeply, or no object.
    """
    if len(content) > FEW_BYTES:
        check_parts(path, content, place)
    try:
        value = from_json(content, cache_strings="keys")
    except ValueError:  # it says less of what is wrong, and is less lenient
        value = loads(path, decoded(path, content, place), place)
    if not isinstance(value, dict):
        raise SourceFault(path, place, f"holds a JSON {kind(value)} where an object belongs")
    return value


def check_parts(path: Where, content: bytes | str, place: str = "") -> None:
    """Refuse JSON that is small as text and enormous as values, before it is made into values.

    Raises:
        SourceFault: it holds more than `MOST_PARTS` lists, objects and separators.
    """
    marks = (b"[", b"{", b",") if isinstance(content, bytes) else ("[", "{", ",")
    if sum(map(content.count, marks)) > MOST_PARTS:  # type: ignore[arg-type]
        raise SourceFault(path, place, f"holds more than {MOST_PARTS:,} values")


def loads(path: Where, text: str, place: str) -> object:
    """The JSON value in a text; halves of characters, which nobody can write down, are replaced.

    Raises:
        SourceFault: the text is no JSON, is nested too deeply, or has a number of thousands of
            digits.
    """
    try:
        return whole(json.loads(text), text)
    except json.JSONDecodeError as error:
        raise json_fault(path, error, place) from error
    except RecursionError as error:
        raise SourceFault(path, place, "is nested too deeply to be results") from error
    except ValueError as error:
        raise SourceFault(path, place, "holds a number of thousands of digits") from error


def whole(value: object, text: str, start: int = 0, end: int | None = None) -> object:
    """A value that was read from `text[start:end]`, halves of characters in it replaced.

    Raises:
        RecursionError: it is nested too deeply.

    >>> whole(["\\ud83d, cut"], '["\\\\ud83d, cut"]')
    ['\N{REPLACEMENT CHARACTER}, cut']
    """
    halves = any(text.find(mark, start, end) >= 0 for mark in ("\\ud", "\\uD"))
    return _mended(value) if halves else value


def _mended(value: object) -> object:
    if isinstance(value, str):
        return HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {_mended(key): _mended(one) for key, one in value.items()}
    return [_mended(one) for one in value] if isinstance(value, list) else value


def json_fault(path: Where, error: json.JSONDecodeError, place: str = "") -> SourceFault:
    """A JSON error as a fault: what, and in which line and column, or how far into a place."""
    column = f"character {error.pos + 1:,}" if place else f"column {error.colno:,}"
    where = f"{place or f'line {error.lineno:,}'}, {column}"
    problem = "ends in the middle of its JSON" if error.pos >= len(error.doc) - 1 else error.msg
    return SourceFault(path, where, problem)


def kind(value: object) -> str:
    """The JSON word for the type of a value."""
    words = {dict: "object", list: "array", str: "string", bool: "truth value"}
    return words.get(type(value), "null" if value is None else "number")
