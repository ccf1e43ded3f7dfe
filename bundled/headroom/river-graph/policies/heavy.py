"""Breadth-first search that keeps the whole path to every place."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def neighbours() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    with open(f"{APP}/channels.txt", encoding="ascii") as file:
        for line in file:
            one, other = map(int, line.split())
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def paths(neighbours: dict[int, list[int]]) -> dict[int, list[int]]:
    """A shortest path from place 0 to every place that can be reached."""
    found = {0: [0]}
    queue = [0]
    for place in queue:
        for other in neighbours[place]:
            if other not in found:
                found[other] = [*found[place], other]
                queue.append(other)
    return found


def main() -> None:
    with open(f"{APP}/hops.txt", "w", encoding="ascii") as file:
        for place, path in paths(neighbours()).items():
            file.write(f"{place} {len(path) - 1}\n")


if __name__ == "__main__":
    main()
