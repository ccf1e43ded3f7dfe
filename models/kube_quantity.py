"""Quantities in the words of the Kubernetes API."""

import re
from decimal import Decimal

SUFFIXES: dict[str, int | Decimal] = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
    "m": Decimal("0.001"), "u": Decimal("0.000001"), "n": Decimal("0.000000001"),
}  # fmt: skip
QUANTITY = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)")


def quantity(text: str | int | float) -> Decimal:
    """A quantity in the API's words as a number.

    >>> quantity("64Mi"), quantity("250m"), quantity("1e3")
    (Decimal('67108864'), Decimal('0.250'), Decimal('1E+3'))

    Raises:
        ValueError: it is none.
    """
    found = QUANTITY.fullmatch(str(text))
    if found is None or found[2] not in SUFFIXES:
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(found[1]) * SUFFIXES[found[2]]
