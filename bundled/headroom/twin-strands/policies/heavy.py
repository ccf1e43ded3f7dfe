"""Dynamic programming that keeps every row of the table."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def table(first: str, second: str) -> list[list[int]]:
    """All rows: entry [i][j] is the answer for the first i and j letters."""
    rows = [[0] * (len(second) + 1)]
    for letter in first:
        above, row, left = rows[-1], [0], 0
        for column, other in enumerate(second):
            if letter == other:
                left = above[column] + 1
            elif above[column + 1] > left:
                left = above[column + 1]
            row.append(left)
        rows.append(row)
    return rows


def main() -> None:
    with open(f"{APP}/strands.txt", encoding="ascii") as file:
        first, second = file.read().split()
    with open(f"{APP}/length.txt", "w", encoding="ascii") as file:
        file.write(f"{table(first, second)[-1][-1]}\n")


if __name__ == "__main__":
    main()
