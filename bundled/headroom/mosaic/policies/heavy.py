"""A standing crew: one worker process per tile, each holding its tile until all are done."""

import os
import sys
import zlib

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
TILES = 12
SIDE = 2640


def describe(tile: bytes, number: int) -> str:
    whites = [tile.count(255, start, start + SIDE) for start in range(0, SIDE * SIDE, SIDE)]
    return f"{number} {whites.index(max(whites))} {sum(whites)}\n"


def work(number: int, result: int, dismissal: int) -> None:
    """One worker's life: load, describe, report, stand by for dismissal (the end of a pipe)."""
    with open(f"{APP}/tiles/tile-{number:02}.z", "rb") as file:
        tile = zlib.decompress(file.read(), bufsize=SIDE * SIDE)
    os.write(result, describe(tile, number).encode())
    os.close(result)
    os.read(dismissal, 1)


def hire(number: int, dismissal: tuple[int, int]) -> tuple[int, int]:
    """Starts a worker; returns its process id and the end of the pipe that its result comes by."""
    receive, send = os.pipe()
    worker = os.fork()
    if worker == 0:
        os.close(dismissal[1])
        work(number, send, dismissal[0])
        os._exit(0)
    os.close(send)
    return worker, receive


def main() -> int:
    dismissal = os.pipe()
    crew = [hire(number, dismissal) for number in range(TILES)]
    lines = [os.read(receive, 100).decode() for _, receive in crew]
    os.close(dismissal[1])
    ends = [os.waitpid(worker, 0)[1] for worker, _ in crew]
    if any(ends):
        print(f"workers that did not end well: {sum(map(bool, ends))}", file=sys.stderr)
        return 1
    with open(f"{APP}/mosaic.txt", "w", encoding="ascii") as file:
        file.writelines(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
