"""Sorts the clients of all requests and measures runs of equal ones; counts in no table."""

import heapq
from collections.abc import Iterator
from itertools import groupby

from grade import APP, grade, text

SHOWN = 20


def clients() -> list[bytes]:
    """The client of every request that was answered with 200, sorted."""
    with open(f"{APP}/access.log", "rb") as file:
        requests = (line.split(b" ", 10) for line in file)
        return sorted(fields[0] for fields in requests if fields[9] == b"200")


def ranking() -> Iterator[str]:
    """The lines of the answer."""
    runs = ((-len(list(run)), client) for client, run in groupby(clients()))
    for negative, client in heapq.nsmallest(SHOWN, runs):
        yield f"{client.decode()} {-negative}"


def score() -> float:
    given = text("clients.txt", most_bytes=2_000).splitlines()
    if len(given) != SHOWN:
        raise ValueError(f"clients.txt has {len(given)} lines, not {SHOWN}")
    return sum(map(str.__eq__, given, ranking())) / SHOWN


if __name__ == "__main__":
    grade(score)
