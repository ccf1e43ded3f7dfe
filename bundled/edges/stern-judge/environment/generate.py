"""Writes poem.txt. Usage: generate.py DIRECTORY"""

import random
import sys

LINES = 92_000
WORDS = ("rain", "stone", "light", "under", "never", "the", "old", "bridge", "and", "river")


def main(directory: str) -> None:
    rng = random.Random(20260113)
    with open(f"{directory}/poem.txt", "w", encoding="ascii") as file:
        file.writelines(" ".join(rng.choices(WORDS, k=5)) + "\n" for _ in range(LINES))


if __name__ == "__main__":
    main(sys.argv[1])
