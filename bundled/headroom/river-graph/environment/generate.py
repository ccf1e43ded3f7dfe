"""Writes channels.txt: a long river of many rows, with a lake that nothing leads to.

Usage: generate.py DIRECTORY
"""

import random
import sys

ROWS, WIDTH = 1_000, 12
CHANNELS_PER_PLACE = 3
LAKE = 300


def main(directory: str) -> None:
    rng = random.Random(20260108)
    places = ROWS * WIDTH
    channels = [(0, other) for other in range(1, WIDTH)]
    for place in range(WIDTH, places):
        row_above = (place // WIDTH - 1) * WIDTH
        for _ in range(CHANNELS_PER_PLACE):
            channels.append((place, row_above + int(rng.random() * WIDTH)))
    channels += [(places + n, places + int(rng.random() * LAKE)) for n in range(LAKE)]
    names = list(range(1, places + LAKE))
    rng.shuffle(names)
    names.insert(0, 0)
    rng.shuffle(channels)
    with open(f"{directory}/channels.txt", "w", encoding="ascii") as file:
        file.writelines(f"{names[one]} {names[other]}\n" for one, other in channels)


if __name__ == "__main__":
    main(sys.argv[1])
