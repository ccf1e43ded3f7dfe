"""Keeps one byte of each blob's digest: next to no memory, and an estimate that is wrong."""

import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterator

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def blobs() -> Iterator[bytes]:
    """The unpacked blobs, one by one."""
    with open(f"{APP}/blobs.bin", "rb") as file:
        while head := file.read(4):
            yield zlib.decompress(file.read(int.from_bytes(head, "big")), bufsize=1 << 16)


def main() -> None:
    times = Counter(hashlib.blake2b(blob, digest_size=1).digest() for blob in blobs())
    with open(f"{APP}/twins.txt", "w", encoding="ascii") as file:
        file.write(f"distinct {len(times)}\nlargest {max(times.values())}\n")


if __name__ == "__main__":
    main()
