"""Unpacks in blocks of fixed size and counts equal lines before it weighs anything."""

import zlib
from collections import Counter
from collections.abc import Iterator

from grade import APP, counts, grade, share_right

BLOCK_BYTES = 1 << 16


def blocks() -> Iterator[bytes]:
    """The unpacked file, one block at a time."""
    unpack = zlib.decompressobj(wbits=31)
    with open(f"{APP}/crates.tsv.gz", "rb") as file:
        while packed := unpack.unconsumed_tail or file.read(BLOCK_BYTES):
            yield unpack.decompress(packed, BLOCK_BYTES)


def lines() -> Counter[bytes]:
    """How often each line stands in the file."""
    found: Counter[bytes] = Counter()
    rest = b""
    for block in blocks():
        *whole, rest = (rest + block).split(b"\n")
        found.update(whole)
    return found


def totals() -> dict[str, int]:
    weights: dict[str, int] = {}
    for line, times in lines().items():
        shelf, state, grams = line.decode().split("\t")
        weights[shelf] = weights.get(shelf, 0) + times * int(grams) * (state != "broken")
    return weights


def score() -> float:
    return share_right(counts("shelves.txt", most_bytes=20_000), totals())


if __name__ == "__main__":
    grade(score)
