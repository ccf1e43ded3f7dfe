"""Writes sales.tsv, the example. Usage: generate.py DIRECTORY"""

import random
import sys

SALES = 90_000


def main(directory: str) -> None:
    rng = random.Random(20260112)
    with open(f"{directory}/sales.tsv", "w", encoding="ascii") as file:
        for _ in range(SALES):
            article, pieces, cents = (int(rng.random() * most) for most in (5000, 9, 2000))
            file.write(f"A{article:04}\t{1 + pieces}\t{5 + cents}\n")


if __name__ == "__main__":
    main(sys.argv[1])
