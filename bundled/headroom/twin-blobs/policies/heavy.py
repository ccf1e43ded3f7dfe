"""Keeps every distinct blob as the key of a dictionary."""

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
    times = Counter(blobs())
    with open(f"{APP}/twins.txt", "w", encoding="ascii") as file:
        file.write(f"distinct {len(times)}\nlargest {max(times.values())}\n")


if __name__ == "__main__":
    main()
