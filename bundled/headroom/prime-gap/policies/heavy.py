"""Sieves the whole range in one list of Booleans."""

import math
import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/limit.txt", encoding="ascii") as file:
        limit = int(file.read())
    is_prime = [False, False] + [True] * (limit - 2)
    for number in range(2, math.isqrt(limit) + 1):
        if is_prime[number]:
            multiples = range(number * number, limit, number)
            is_prime[number * number :: number] = [False] * len(multiples)
    best, last = (2, 2), 2
    for number, prime in enumerate(is_prime):
        if prime:
            if number - last > best[1] - best[0]:
                best = (last, number)
            last = number
    with open(f"{APP}/gap.txt", "w", encoding="ascii") as file:
        file.write(f"{best[0]} {best[1]}\n")


if __name__ == "__main__":
    main()
