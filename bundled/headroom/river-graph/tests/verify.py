"""Searches nothing: checks the hops as a certificate, in one pass over the channels.

They are right if place 0 has 0, every other place has a neighbour that is one hop nearer, no
channel joins places more than one hop apart, and none leads from a reached place to another.
"""

from __future__ import annotations  # array[int] needs Python 3.12 otherwise

from array import array

from grade import APP, answer, grade

MOST_BYTES = 1_000_000
UNREACHED = -1


def given_hops(places: int) -> array[int]:
    """Hops per place as answered; raises ValueError for places that do not exist or come twice."""
    hops = array("i", [UNREACHED]) * places
    with open(answer("hops.txt", MOST_BYTES), encoding="ascii") as file:
        for line in file:
            place, number = map(int, line.split())
            if not 0 <= place < places or not 0 <= number < places or hops[place] != UNREACHED:
                raise ValueError(f"hops.txt: line {line!r} cannot be right")
            hops[place] = number
    return hops


def channels() -> array[int]:
    """Both ends of every channel, one behind the other."""
    with open(f"{APP}/channels.txt", "rb") as file:
        ends = array("i")
        for line in file:
            ends.extend(map(int, line.split()))
    return ends


def is_right(hops: array[int], ends: array[int]) -> bool:
    has_nearer = bytearray(len(hops))
    for one, other in zip(ends[::2], ends[1::2], strict=True):
        step = hops[other] - hops[one]
        if step not in (-1, 0, 1) or (step and UNREACHED in (hops[one], hops[other])):
            return False
        if step == 1:
            has_nearer[other] = 1
        elif step == -1:
            has_nearer[one] = 1
    nearer = (near or hop in (0, UNREACHED) for near, hop in zip(has_nearer, hops, strict=True))
    return hops[0] == 0 and hops.count(0) == 1 and all(nearer)


def score() -> float:
    ends = channels()
    return float(is_right(given_hops(max(ends) + 1), ends))


if __name__ == "__main__":
    grade(score)
