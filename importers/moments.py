"""Times that others wrote, as Unix seconds."""

from datetime import datetime
from typing import NamedTuple

from ..models.errors import SourceFault
from .bounded import Where


class Hour(NamedTuple):
    """The hour, 0..23, and the day, 0 (Monday)..6, of a moment in UTC; None where it is unknown."""

    hour_utc: int | None
    weekday: int | None


def moment(path: Where, place: str, value: object) -> float | None:
    """An ISO 8601 time as Unix seconds; None where there is none, or its zone is not told.

    Raises:
        SourceFault: something else stands there.

    >>> moment("r.json", "started_at", "2026-11-20T12:55:01.500Z")
    1795179301.5
    """
    try:
        return seconds(value)
    except (TypeError, ValueError) as error:
        raise SourceFault(path, place, f"{value!r:.60} is no ISO 8601 time") from error


def seconds(value: object) -> float | None:
    """The same, without a place to name.

    Raises:
        TypeError, ValueError: something else stands there.
    """
    if value is None or value == "":
        return None
    when = datetime.fromisoformat(value)  # type: ignore[arg-type]
    return None if when.tzinfo is None else when.timestamp()


def between(start: float | None, end: float | None) -> float | None:
    """Seconds from one moment to another; None where either is unknown or the clock ran back."""
    if start is None or end is None or end < start:
        return None
    return end - start


def hour_of(at: float | None) -> Hour:
    """Hour and weekday of a moment.

    >>> hour_of(0.0)
    Hour(hour_utc=0, weekday=3)
    """
    if at is None:
        return Hour(None, None)
    return Hour(int(at // 3600) % 24, int(at // 86400 + 3) % 7)
