"""Writes meter.txt; about one estimate in two is followed by a reading.

Usage: generate.py DIRECTORY
"""

import random
import sys

DAYS = 20_000


def main(directory: str) -> None:
    rng = random.Random(20260114)
    with open(f"{directory}/meter.txt", "w", encoding="ascii") as file:
        for day in range(1, DAYS + 1):
            litres = 50 + int(rng.random() * 400)
            kind = rng.random()
            if kind < 0.2:
                file.write(f"{day} {litres + 7}*\n")
            if kind >= 0.1:
                file.write(f"{day} {litres}\n")


if __name__ == "__main__":
    main(sys.argv[1])
