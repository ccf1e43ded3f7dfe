"""Fields of JSON that others wrote: there and of the right kind, or a fault that says where."""

import math
from collections.abc import Mapping
from typing import Any

from ..models.errors import SourceFault
from .bounded import Where
from .json_bounded import kind

EXACT = 2**53  # up to which every whole number is itself as a float


def part(path: Where, place: str, value: object) -> Mapping[str, Any]:
    """An object; an empty one where there is none.

    Raises:
        SourceFault: something else stands there.
    """
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SourceFault(path, place, f"an object belongs here, not a {kind(value)}")
    return value


def items(path: Where, place: str, value: object) -> list[Any]:
    """A list; an empty one where there is none.

    Raises:
        SourceFault: something else stands there.
    """
    if value is None:
        return []
    if not isinstance(value, list):
        raise SourceFault(path, place, f"a list belongs here, not a {kind(value)}")
    return value


def word(value: object) -> str:
    """A text as it stands; "" for anything else."""
    return value if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return found if math.isfinite(found) else None


def count(value: object) -> int | None:
    """A whole number of 0 or more; None for anything else."""
    if type(value) is int and 0 <= value <= EXACT:
        return value  # as nearly always
    found = number(value)
    return int(found) if found is not None and found >= 0 and found == int(found) else None
