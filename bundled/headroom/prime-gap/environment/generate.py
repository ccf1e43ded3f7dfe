"""Writes limit.txt. Usage: generate.py DIRECTORY"""

import random
import sys

AROUND = 2_700_000


def main(directory: str) -> None:
    limit = AROUND + random.Random(20260103).randrange(10_000)
    with open(f"{directory}/limit.txt", "w", encoding="ascii") as file:
        file.write(f"{limit}\n")


if __name__ == "__main__":
    main(sys.argv[1])
