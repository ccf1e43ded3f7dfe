"""Dynamic programming with two rows."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def common(first: str, second: str) -> int:
    """Length of the longest common subsequence; needs two rows of memory."""
    above = [0] * (len(second) + 1)
    for letter in first:
        row, left = [0], 0
        for column, other in enumerate(second):
            if letter == other:
                left = above[column] + 1
            elif above[column + 1] > left:
                left = above[column + 1]
            row.append(left)
        above = row
    return above[-1]


def main() -> None:
    with open(f"{APP}/strands.txt", encoding="ascii") as file:
        first, second = file.read().split()
    with open(f"{APP}/length.txt", "w", encoding="ascii") as file:
        file.write(f"{common(first, second)}\n")


if __name__ == "__main__":
    main()
