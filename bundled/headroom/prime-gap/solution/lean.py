"""Sieves one segment after the other and keeps the last prime of each."""

import math
import os
from collections.abc import Iterator

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
SEGMENT = 1 << 18


def small_primes(below: int) -> list[int]:
    marks = bytearray([1]) * below
    for number in range(2, math.isqrt(below) + 1):
        marks[number * number :: number] = bytes(len(range(number * number, below, number)))
    return [number for number in range(2, below) if marks[number]]


def primes(limit: int) -> Iterator[int]:
    """The primes below `limit`; needs one segment of memory."""
    divisors = small_primes(math.isqrt(limit) + 2)
    for start in range(0, limit, SEGMENT):
        marks = bytearray([1]) * (min(start + SEGMENT, limit) - start)
        if start == 0:
            marks[:2] = b"\0\0"
        for divisor in divisors:
            first = max(divisor * divisor, -(-start // divisor) * divisor) - start
            marks[first::divisor] = bytes(len(range(first, len(marks), divisor)))
        place = marks.find(1)
        while place >= 0:
            yield start + place
            place = marks.find(1, place + 1)


def main() -> None:
    with open(f"{APP}/limit.txt", encoding="ascii") as file:
        limit = int(file.read())
    best, last = (2, 2), 2
    for prime in primes(limit):
        if prime - last > best[1] - best[0]:
            best = (last, prime)
        last = prime
    with open(f"{APP}/gap.txt", "w", encoding="ascii") as file:
        file.write(f"{best[0]} {best[1]}\n")


if __name__ == "__main__":
    main()
