"""Writes strands.txt: two strands with a common ancestor. Usage: generate.py DIRECTORY"""

import random
import sys

FIRST, SECOND = 1_760, 1_620


def strand(rng: random.Random, ancestor: str, length: int) -> str:
    """The ancestor with letters struck out or changed, brought to `length`."""
    kept = "".join(
        rng.choice("ACGT") if rng.random() < 0.3 else letter
        for letter in ancestor
        if rng.random() > 0.15
    )
    return (kept + "".join(rng.choices("ACGT", k=length)))[:length]


def main(directory: str) -> None:
    rng = random.Random(20260104)
    ancestor = "".join(rng.choices("ACGT", k=FIRST))
    with open(f"{directory}/strands.txt", "w", encoding="ascii") as file:
        file.writelines(f"{strand(rng, ancestor, length)}\n" for length in (FIRST, SECOND))


if __name__ == "__main__":
    main(sys.argv[1])
