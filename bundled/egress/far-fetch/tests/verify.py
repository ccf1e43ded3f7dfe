"""Seals the server's pattern itself; nothing is fetched again."""

import hashlib

from grade import APP, grade, text

PATTERN = bytes(range(256)) * 256


def score() -> float:
    with open(f"{APP}/order.txt", encoding="ascii") as file:
        whole, rest = divmod(int(file.read()), len(PATTERN))
    seal = hashlib.sha256(PATTERN * whole + PATTERN[:rest]).hexdigest()
    return float(text("seal.txt", most_bytes=1_000).split() == [seal])


if __name__ == "__main__":
    grade(score)
