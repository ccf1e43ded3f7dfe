"""Reads all lines before it writes the first; still within the spec of this task."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/poem.txt", encoding="ascii") as poem:
        lines = poem.readlines()
    with open(f"{APP}/numbered.txt", "w", encoding="ascii") as numbered:
        numbered.writelines(f"{number}\t{line}" for number, line in enumerate(lines, start=1))


if __name__ == "__main__":
    main()
