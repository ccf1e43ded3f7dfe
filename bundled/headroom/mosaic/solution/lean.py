"""One tile after the other."""

import os
import zlib

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"
TILES = 12
SIDE = 2640


def describe(number: int) -> str:
    """The answer's line for one tile; needs one tile of memory."""
    with open(f"{APP}/tiles/tile-{number:02}.z", "rb") as file:
        tile = zlib.decompress(file.read(), bufsize=SIDE * SIDE)
    whites = [tile.count(255, start, start + SIDE) for start in range(0, SIDE * SIDE, SIDE)]
    return f"{number} {whites.index(max(whites))} {sum(whites)}\n"


def main() -> None:
    with open(f"{APP}/mosaic.txt", "w", encoding="ascii") as file:
        file.writelines(describe(number) for number in range(TILES))


if __name__ == "__main__":
    main()
