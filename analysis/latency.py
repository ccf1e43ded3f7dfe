"""Latencies of a model's API as levels of an observed factor. Pure."""

import math

LOWEST_S, HIGHEST_S = 0.25, 256.0


def latency_level(seconds: float | None) -> str | None:
    """The level of a latency: between which powers of two of a second it lies; None of none.

    Levels are the same for every model, so that results of several runs can be laid side by side.

    >>> latency_level(0.1), latency_level(3.0), latency_level(4.0)
    ('under 0.25 s', '2 to 4 s', '4 to 8 s')
    """
    if seconds is None:
        return None
    if seconds < LOWEST_S:
        return f"under {LOWEST_S:g} s"
    if seconds >= HIGHEST_S:
        return f"{HIGHEST_S:g} s and more"
    low = 2.0 ** math.floor(math.log2(seconds))
    return f"{low:g} to {2 * low:g} s"
