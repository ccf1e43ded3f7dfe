"""Proves the pair without a sieve: leaps of the claimed width from prime to prime.

From a prime p, the largest prime within (p, p + gap] exists unless a wider gap starts at p; so a
walk by such leaps that reaches the limit shows that nothing is wider.
"""

import math

from grade import APP, grade, text

SMALL = 3 * 5 * 7 * 11 * 13 * 17 * 19 * 23 * 29 * 31 * 37
BASES = (31, 73)


def is_prime(number: int) -> bool:
    """Miller-Rabin with the bases 31 and 73, which are enough below 9,080,191.

    Source: Jaeschke (1993), On strong pseudoprimes to several bases, Math. Comp. 61:915-926.
    """
    if number < 75:
        return all(number % divisor for divisor in range(2, math.isqrt(number) + 1))
    if number % 2 == 0 or math.gcd(number, SMALL) > 1:
        return False
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, base, odd, twos) for base in BASES)


def _passes(number: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    return any((power := power * power % number) == number - 1 for _ in range(twos - 1))


def leap(prime: int, width: int, limit: int) -> int:
    """The largest prime within (prime, prime + width] and below `limit`; `prime` if none."""
    top = min(prime + width, limit - 1)
    odd_top = top - 1 + top % 2
    return next((number for number in range(odd_top, prime, -2) if is_prime(number)), prime)


def widest(low: int, high: int, limit: int) -> bool:
    """Whether the gap from `low` to `high` is the first of the widest ones below `limit`."""
    at = 2
    while at < low:
        after = leap(at, high - low - 1, low + 1)  # before it: strictly narrower
        if after == at:
            return False
        at = after
    at = high
    while at + (high - low) < limit:
        after = leap(at, high - low, limit)
        if after == at:
            return leap(at, limit, limit) == at  # no prime follows at all, so no pair either
        at = after
    return True


def score() -> float:
    with open(f"{APP}/limit.txt", encoding="ascii") as file:
        limit = int(file.read())
    low, high = (int(number) for number in text("gap.txt", most_bytes=100).split())
    if not 2 <= low < high < limit or not (is_prime(low) and is_prime(high)):
        return 0.0
    if leap(low, high - low - 1, limit) != low:
        return 0.0
    return float(widest(low, high, limit))


if __name__ == "__main__":
    grade(score)
