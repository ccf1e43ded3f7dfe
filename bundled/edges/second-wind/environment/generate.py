"""Writes visits.txt. Usage: generate.py DIRECTORY"""

import random
import sys

VISITS = 170_000
NUMBERS = 1 << 22


def main(directory: str) -> None:
    rng = random.Random(20260111)
    with open(f"{directory}/visits.txt", "w", encoding="ascii") as file:
        file.writelines(f"{int(rng.random() ** 2 * NUMBERS)}\n" for _ in range(VISITS))


if __name__ == "__main__":
    main(sys.argv[1])
