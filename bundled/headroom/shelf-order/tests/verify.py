"""Sorts nothing: the answer must rise line by line, and be the same collection of lines."""

from collections.abc import Iterator

from grade import APP, answer, grade

MOST_BYTES = 20_000_000


def fingerprint(path: str) -> tuple[int, int]:
    """Number of lines, and the sum of their hashes, which this process alone knows beforehand."""
    number, total = 0, 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):  # noqa: B007 - the last number is the count
            total += hash(line)
    return number, total


def rises(lines: Iterator[bytes]) -> bool:
    """Whether every line belongs behind the one before it."""
    last_author, last_year, last_title = b"", 0, b""
    for line in lines:
        author, year_field, title = line.split(b"\t")
        author, year = author.lower(), -int(year_field)
        if author <= last_author and (author, year, title) <= (last_author, last_year, last_title):
            return False
        last_author, last_year, last_title = author, year, title
    return True


def score() -> float:
    path = answer("shelf.tsv", MOST_BYTES)
    if fingerprint(path) != fingerprint(f"{APP}/books.tsv"):
        return 0.0
    with open(path, "rb") as file:
        return float(rises(file))


if __name__ == "__main__":
    grade(score)
