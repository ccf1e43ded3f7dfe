"""Has a child build an index of all visits; takes the lean way if the child does not come back."""

import os
import sys

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def index() -> dict[int, list[tuple[int, bytes]]]:
    """The visits of each visitor: number of the line, and the line."""
    visits: dict[int, list[tuple[int, bytes]]] = {}
    with open(f"{APP}/visits.txt", "rb") as file:
        for number, line in enumerate(file):
            visits.setdefault(int(line), []).append((number, line))
    return visits


def answer() -> None:
    visits = index()
    once = sum(len(found) == 1 for found in visits.values())
    with open(f"{APP}/visitors.txt", "w", encoding="ascii") as file:
        file.write(f"visitors {len(visits)}\nonce {once}\n")


def main() -> None:
    child = os.fork()
    if child == 0:
        answer()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if status != 0:
        print("the index was lost; counting without it", file=sys.stderr)
        lean = os.path.dirname(os.path.abspath(__file__)) + "/lean.py"
        os.execv(sys.executable, [sys.executable, "-I", "-S", lean])


if __name__ == "__main__":
    main()
