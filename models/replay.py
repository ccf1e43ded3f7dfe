"""Kill replay: a killed trial runs again at a higher ceiling, all else as it was.

What the kill hid is thereby seen: a trial that passes on replay is a rescued one, whatever else a
higher ceiling changes. A replay is an attempt of its own; the trial's outcome stays the kill.
"""

from collections.abc import Sequence

from .band import Band, Share
from .errors import DesignError


def replay_band(bands: Sequence[Band], killed_in: str, ceiling: str) -> Band | None:
    """The band in which a trial that was killed in one band runs again; None if it is not higher.

    Args:
        ceiling: a band's name; or a shorthand such as "4x", which is then the trial's own band with
            this memory ceiling and nothing else changed.
    Raises:
        DesignError: the ceiling is neither.

    >>> bands = [Band.shorthand("1x"), Band.shorthand("3x")]
    >>> replay_band(bands, "1x", "2x").memory, replay_band(bands, "3x", "2x")
    (Share(floor=1.0, ceiling=2.0), None)
    """
    own = next(band for band in bands if band.name == killed_in)
    named = next((band for band in bands if band.name == ceiling), None)
    higher = named or _raised(own, Band.shorthand(ceiling))
    if not (own.stated and higher.stated and higher.memory.limit > own.memory.limit):
        return None
    return higher


def check_ceiling(bands: Sequence[Band], ceiling: str) -> None:
    """Refuse a ceiling at which no killed trial could run again.

    Raises:
        DesignError: it is neither a band nor a shorthand, or lies above no band; says which do.
    """
    if any(replay_band(bands, band.name, ceiling) for band in bands):
        return
    names = ", ".join(band.name for band in bands)
    raise DesignError(
        f"kill replay at {ceiling}: no band has a lower memory ceiling ({names}); name a higher one"
    )


def _raised(own: Band, wanted: Band) -> Band:
    floor, ceiling = own.memory.floor, wanted.memory.ceiling
    if floor is not None and floor > wanted.memory.limit:
        return own
    memory = Share(floor=floor, ceiling=ceiling)
    return own.model_copy(update={"name": wanted.name, "memory": memory})
