"""Adds up every line: it has not read the last paragraph, and no amount of memory helps that."""

import os

APP = os.environ.get("INFRANOISE_ROOT", "") + "/app"


def main() -> None:
    with open(f"{APP}/meter.txt", encoding="ascii") as file:
        total = sum(int(line.split()[1].rstrip("*")) for line in file)
    with open(f"{APP}/total.txt", "w", encoding="ascii") as file:
        file.write(f"{total}\n")


if __name__ == "__main__":
    main()
