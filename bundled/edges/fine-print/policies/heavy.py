"""Loads all readings and drops every estimate: wrong in another way than `lean`, and as surely."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/meter.txt", encoding="ascii") as file:
        readings = [line.split() for line in file]
    total = sum(int(litres) for _, litres in readings if not litres.endswith("*"))
    with open(f"{APP}/total.txt", "w", encoding="ascii") as file:
        file.write(f"{total}\n")


if __name__ == "__main__":
    main()
