"""Reads the bookings with a pattern over the mapped file, not with a JSON decoder."""

import json
import mmap
import re

from grade import APP, grade, share_right, text

BOOKING = re.compile(rb'"account":"([^"]+)","cents":(-?\d+),"void":(t|f)')


def balances() -> dict[str, int]:
    totals: dict[bytes, int] = {}
    with (
        open(f"{APP}/ledger.json", "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as ledger,
    ):
        for booking in BOOKING.finditer(ledger):
            account, cents, void = booking.groups()
            totals[account] = totals.get(account, 0) + (0 if void == b"t" else int(cents))
    return {account.decode(): total for account, total in totals.items()}


def score() -> float:
    given = json.loads(text("balances.json", most_bytes=100_000))
    if not isinstance(given, dict):
        raise ValueError("balances.json is not a JSON object")
    return share_right(given, balances())


if __name__ == "__main__":
    grade(score)
