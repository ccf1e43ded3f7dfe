"""Adds up line by line while the file unpacks."""

import gzip
import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    totals: dict[bytes, int] = {}
    with gzip.open(f"{APP}/crates.tsv.gz", "rb") as crates:
        for crate in crates:
            shelf, state, grams = crate.split(b"\t")
            weight = 0 if state == b"broken" else int(grams)
            totals[shelf] = totals.get(shelf, 0) + weight
    with open(f"{APP}/shelves.txt", "w", encoding="ascii") as file:
        file.writelines(f"{shelf.decode()} {total}\n" for shelf, total in totals.items())


if __name__ == "__main__":
    main()
