"""Sorts the streams by the checksum at their end, and compares blobs only where that agrees.

A zlib stream ends in the Adler-32 of what it unpacks to (RFC 1950), so most blobs need no
unpacking; never more than two are held at once.
"""

import mmap
import zlib

from grade import APP, counts, grade


def families(blobs: mmap.mmap) -> dict[bytes, list[tuple[int, int]]]:
    """Places (start, end) of the streams in the file, by the checksum at their end."""
    found: dict[bytes, list[tuple[int, int]]] = {}
    at = 0
    while at < len(blobs):
        end = at + 4 + int.from_bytes(blobs[at : at + 4], "big")
        found.setdefault(blobs[end - 4 : end], []).append((at + 4, end))
        at = end
    return found


def split(blobs: mmap.mmap, places: list[tuple[int, int]]) -> list[int]:
    """Sizes of the groups of equal blobs among these places."""
    sizes = []
    while places:
        first = zlib.decompress(blobs[slice(*places[0])])
        others = [place for place in places[1:] if zlib.decompress(blobs[slice(*place)]) != first]
        sizes.append(len(places) - len(others))
        places = others
    return sizes


def right() -> dict[str, int]:
    with (
        open(f"{APP}/blobs.bin", "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as blobs,
    ):
        sizes = [size for family in families(blobs).values() for size in split(blobs, family)]
    return {"distinct": len(sizes), "largest": max(sizes)}


def score() -> float:
    given = counts("twins.txt", most_bytes=1_000)
    return sum(given.get(key) == value for key, value in right().items()) / 2


if __name__ == "__main__":
    grade(score)
