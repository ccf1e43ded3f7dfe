"""Files that others wrote, read within bounds: how large, in which encoding, how deep.

What lies in a tree of results may be truncated, enormous or hostile. Every way in which it can be
wrong becomes a `SourceFault` that names the file and the place.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from ..models.errors import SourceFault

MOST_BYTES = 256 * 1024 * 1024
"""A whole JSON document larger than this is refused; logs that may be larger are streamed."""

type Object = Mapping[str, Any]
type Where = Path | str
"""A file, for reading it and for faults; texts are cheaper where there are many."""


def read_bytes(path: Where, most: int = MOST_BYTES) -> bytes:
    """A whole file.

    Raises:
        SourceFault: it cannot be read, is no ordinary file, or is larger than `most`.
    """
    try:
        # A third of the cost of `Path.open`: trees have hundreds of thousands of small files.
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(file).st_size
            if size > most:
                raise SourceFault(path, "", f"holds {size:,} bytes, more than the {most:,} allowed")
            content = os.read(file, size)
            while len(content) < size and (more := os.read(file, size - len(content))):
                content += more
        finally:
            os.close(file)
    except OSError as error:
        raise SourceFault(path, "", f"cannot be read: {error.strerror or error}") from error
    return content


def read_text(path: Where, most: int = MOST_BYTES) -> str:
    """A whole UTF-8 file.

    Raises:
        SourceFault: as `read_bytes`; or another encoding, with the byte at fault.
    """
    return decoded(path, read_bytes(path, most))


def decoded(path: Where, content: bytes, place: str = "") -> str:
    """Bytes of a file as text; a byte order mark is dropped.

    Raises:
        SourceFault: the bytes are not UTF-8; names the first that is not.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{place + ', ' if place else ''}byte {error.start:,}"
        raise SourceFault(path, where, "is not UTF-8; save the file in that encoding") from error


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
    try:
        value = from_json(content, cache_strings="keys")
    except ValueError:  # it says less of what is wrong, and is less lenient
        value = _loads(path, decoded(path, content, place), place)
    if not isinstance(value, dict):
        raise SourceFault(path, place, f"holds a JSON {kind(value)} where an object belongs")
    return value


def _loads(path: Where, text: str, place: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise json_fault(path, error, place) from error
    except RecursionError as error:
        raise SourceFault(path, place, "is nested too deeply to be results") from error


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


def folders(root: Path) -> Iterator[Path]:
    """The folders below a folder, in order of their names; links are not followed.

    Raises:
        SourceFault: the folder cannot be listed.
    """
    try:
        with os.scandir(root) as found:
            names = sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        raise SourceFault(root, "", f"cannot be listed: {error.strerror or error}") from error
    return (root / name for name in names)
