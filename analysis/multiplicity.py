"""Many tests at once: adjusted p-values."""

from collections.abc import Sequence

import numpy as np

from ..models.errors import DesignError
from .arrays import Floats, Ints


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p-values, in the order given; controls the chance of any false alarm.

    Args:
        p_values: in 0..1; None where there was no test, which stays None and counts for nothing.
    Raises:
        DesignError: a p-value outside 0..1.
    Source: Holm (1979), Scand J Stat 6:65-70; as R's p.adjust.

    >>> holm([0.01, None, 0.04])
    [0.02, None, 0.04]
    """
    tested, p = _tested(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _placed(len(p_values), tested[order], stepped)


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """Benjamini-Hochberg adjusted p-values; controls the share of false alarms among alarms.

    Arguments, errors and the meaning of None as in `holm`.

    Source: Benjamini & Hochberg (1995), JRSS B 57:289-300; as R's p.adjust.
    """
    tested, p = _tested(p_values)
    order = np.argsort(-p, kind="stable")
    stepped = np.minimum.accumulate(p[order] * p.size / np.arange(p.size, 0, -1))
    return _placed(len(p_values), tested[order], stepped)


def _tested(p_values: Sequence[float | None]) -> tuple[Ints, Floats]:
    pairs = [(i, p) for i, p in enumerate(p_values) if p is not None]
    if wrong := [p for _, p in pairs if not 0.0 <= p <= 1.0]:
        raise DesignError(f"p-value {wrong[0]}: must lie in 0..1")
    places = np.array([i for i, _ in pairs], dtype=np.int64)
    return places, np.array([p for _, p in pairs], dtype=np.float64)


def _placed(length: int, places: Ints, adjusted: Floats) -> list[float | None]:
    all_of_them: list[float | None] = [None] * length
    for place, p in zip(places.tolist(), adjusted.tolist(), strict=True):
        all_of_them[place] = min(1.0, p)
    return all_of_them
