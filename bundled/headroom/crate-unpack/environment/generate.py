"""Writes crates.tsv.gz. Usage: generate.py DIRECTORY"""

import gzip
import random
import sys

CRATES = 375_000
SHELVES = 180
STATES = ("ok", "ok", "ok", "damp", "broken")


def main(directory: str) -> None:
    rng = random.Random(20260102)
    shelves = [f"S{number:03}" for number in rng.sample(range(1000), SHELVES)]
    columns = zip(
        rng.choices(shelves, k=CRATES),
        rng.choices(STATES, k=CRATES),
        rng.choices(range(250, 2_000, 25), k=CRATES),
        strict=True,
    )
    text = "".join([f"{shelf}\t{state}\t{grams}\n" for shelf, state, grams in columns])
    # mtime=0: the same bytes at every run.
    with open(f"{directory}/crates.tsv.gz", "wb") as file:
        file.write(gzip.compress(text.encode(), compresslevel=1, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
