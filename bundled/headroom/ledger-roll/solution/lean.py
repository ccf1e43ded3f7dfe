"""Decodes one booking at a time from a small window over the file."""

import json
import os
from collections.abc import Iterator
from typing import Any, TextIO

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
WINDOW_CHARS = 1 << 16


def bookings(file: TextIO) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, one by one; needs about one window of memory."""
    decode = json.JSONDecoder().raw_decode
    window, at = file.read(WINDOW_CHARS), 1
    while True:
        try:
            booking, end = decode(window, at)
        except ValueError:
            more = file.read(WINDOW_CHARS)
            if not more:
                return
            window, at = window[at:] + more, 0
            continue
        yield booking
        at = end + 1


def main() -> None:
    balances: dict[str, int] = {}
    with open(f"{APP}/ledger.json", encoding="ascii") as file:
        for booking in bookings(file):
            cents = 0 if booking["void"] else booking["cents"]
            balances[booking["account"]] = balances.get(booking["account"], 0) + cents
    with open(f"{APP}/balances.json", "w", encoding="ascii") as file:
        json.dump(balances, file)


if __name__ == "__main__":
    main()
