"""Computes the length with one long integer as a row of bits.

Source: Hyyrö (2004), Bit-parallel LCS-length computation revisited, equation for V'.
"""

from grade import APP, grade, text


def common(first: str, second: str) -> int:
    """Length of the longest common subsequence: the zeros left in a row of ones."""
    ones = (1 << len(first)) - 1
    matches = {letter: 0 for letter in "ACGT"}
    for place, letter in enumerate(first):
        matches[letter] |= 1 << place
    row = ones
    for letter in second:
        hits = row & matches[letter]
        row = ((row + hits) | (row - hits)) & ones
    return len(first) - row.bit_count()


def score() -> float:
    with open(f"{APP}/strands.txt", encoding="ascii") as file:
        first, second = file.read().split()
    return float(int(text("length.txt", most_bytes=100)) == common(first, second))


if __name__ == "__main__":
    grade(score)
