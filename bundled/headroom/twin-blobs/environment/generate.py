"""Writes blobs.bin: blobs of 64 KiB, some of them twins packed at another level.

Usage: generate.py DIRECTORY
"""

import random
import sys
import zlib

DISTINCT = 875
BLOBS = 1_080
BLOB_BYTES = 1 << 16


def blob(number: int) -> bytes:
    """Long runs of one random phrase: packs to a few hundred bytes."""
    rng = random.Random(f"blob {number}")
    phrase = rng.randbytes(256)
    return (phrase * (BLOB_BYTES // len(phrase)))[:-4] + number.to_bytes(4, "big")


def main(directory: str) -> None:
    rng = random.Random(20260107)
    numbers = list(range(DISTINCT)) + [
        int(rng.random() ** 2 * DISTINCT) for _ in range(BLOBS - DISTINCT)
    ]
    rng.shuffle(numbers)
    with open(f"{directory}/blobs.bin", "wb") as file:
        for number in numbers:
            packed = zlib.compress(blob(number), rng.choice((1, 6, 9)))
            file.write(len(packed).to_bytes(4, "big") + packed)


if __name__ == "__main__":
    main(sys.argv[1])
