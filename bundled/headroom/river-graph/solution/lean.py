"""Breadth-first search over flat arrays: one number per place, two per end of a channel."""

from __future__ import annotations  # array[int] needs Python 3.12 otherwise

import os
from array import array

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def ends() -> array[int]:
    """Both ends of every channel, one behind the other."""
    numbers = array("i")
    with open(f"{APP}/channels.txt", encoding="ascii") as file:
        for line in file:
            numbers.extend(map(int, line.split()))
    return numbers


def hops_from_source(ends: array[int]) -> array[int]:
    """Hops per place, -1 where none lead; channels hang in linked lists (first, following)."""
    first = array("i", [-1]) * (max(ends) + 1)
    following = array("i", [-1]) * len(ends)
    for end, place in enumerate(ends):
        following[end], first[place] = first[place], end
    hops = array("i", [-1]) * len(first)
    hops[0] = 0
    queue = array("i", [0])
    for place in queue:
        end = first[place]
        while end >= 0:
            other = ends[end ^ 1]
            if hops[other] < 0:
                hops[other] = hops[place] + 1
                queue.append(other)
            end = following[end]
    return hops


def main() -> None:
    with open(f"{APP}/hops.txt", "w", encoding="ascii") as file:
        for place, hops in enumerate(hops_from_source(ends())):
            if hops >= 0:
                file.write(f"{place} {hops}\n")


if __name__ == "__main__":
    main()
