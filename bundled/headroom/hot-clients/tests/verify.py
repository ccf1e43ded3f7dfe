"""Sorts the addresses as whole numbers and measures runs of equal ones; counts in no table."""

import heapq
import re
from array import array
from collections.abc import Iterator
from itertools import groupby

from grade import APP, grade, text

REQUEST = re.compile(rb"(\d+)\.(\d+)\.(\d+)\.(\d+) (?:\S+ ){8}200 ")
SHOWN = 20


def addresses() -> array[int]:
    """The client of every request that was answered with 200, as a number of 32 bits."""
    found = array("L")
    with open(f"{APP}/access.log", "rb") as file:
        for line in file:
            if request := REQUEST.match(line):
                found.append(int.from_bytes(bytes(map(int, request.groups())), "big"))
    return found


def ranking() -> Iterator[str]:
    runs = ((len(list(run)), address) for address, run in groupby(sorted(addresses())))
    named = ((-n, ".".join(map(str, address.to_bytes(4, "big"))), n) for n, address in runs)
    for _, client, requests in heapq.nsmallest(SHOWN, named):
        yield f"{client} {requests}"


def score() -> float:
    given = text("clients.txt", most_bytes=2_000).splitlines()
    if len(given) != SHOWN:
        raise ValueError(f"clients.txt has {len(given)} lines, not {SHOWN}")
    return sum(map(str.__eq__, given, ranking())) / SHOWN


if __name__ == "__main__":
    grade(score)
