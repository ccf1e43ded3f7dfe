"""Sizes as older task files write them: "2G", "512M", "0.5g"."""

import re

MIB_PER_UNIT = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
SIZE = re.compile(r"\s*(?P<amount>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[GMK])\s*", re.IGNORECASE)


def mebibytes(text: str) -> float:
    """MiB of a size with a suffix G, M or K (steps of 1024, fractions allowed, any case).

    Raises:
        ValueError: no suffix, another suffix, or no plain number before it.

    >>> mebibytes("1.5G")
    1536.0
    """
    match = SIZE.fullmatch(text)
    if not match:
        raise ValueError(f'expected a number with suffix G, M or K such as "2G", found {text!r}')
    return float(match["amount"]) * MIB_PER_UNIT[match["unit"].upper()]
