"""Writes tiles/tile-00.z to tile-11.z. Usage: generate.py DIRECTORY"""

import os
import random
import sys
import zlib

TILES = 12
SIDE = 2640


def tile(number: int) -> bytes:
    """Rows of one dark pattern, each with a stretch of white of its own place and length."""
    rng = random.Random(f"tile {number}")
    dark = bytes(rng.choices(range(200), k=SIDE))
    rows = []
    for _ in range(SIDE):
        start, whites = int(rng.random() * (SIDE - 200)), int(rng.random() * 200)
        rows.append(dark[:start] + b"\xff" * whites + dark[start + whites :])
    return b"".join(rows)


def main(directory: str) -> None:
    os.makedirs(f"{directory}/tiles", exist_ok=True)
    for number in range(TILES):
        with open(f"{directory}/tiles/tile-{number:02}.z", "wb") as file:
            file.write(zlib.compress(tile(number), 1))


if __name__ == "__main__":
    main(sys.argv[1])
